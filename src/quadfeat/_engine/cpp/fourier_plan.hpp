// A FourierPlan of plans.py, packed for one instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "isa.hpp"
#include "packing.hpp"
#include "run.hpp"
#include "work.hpp"

namespace quadfeat {

// The fields of a FourierPlan, as they come from Python.
struct FourierFields {
    index n_features;
    Vector<index> axes, axes_ptr, group_nodes;
    Vector<double> nodes;
    Vector<index> node_ptr;
    Vector<double> amplitudes;
    double constant;

    explicit FourierFields(const nb::kwargs& given)
        : n_features(field<index>(given, "n_features")),
          axes(field<Vector<index>>(given, "axes")),
          axes_ptr(field<Vector<index>>(given, "axes_ptr")),
          group_nodes(field<Vector<index>>(given, "group_nodes")),
          nodes(field<Vector<double>>(given, "nodes")),
          node_ptr(field<Vector<index>>(given, "node_ptr")),
          amplitudes(field<Vector<double>>(given, "amplitudes")),
          constant(field<double>(given, "constant")) {}
};

template <class T>
class FourierPlan {
   public:
    FourierPlan(const std::string& isa, const FourierFields& given)
        : isa_(find_isa(isa)),
          features_(given.n_features),
          axes_(copy(given.axes)),
          axes_ptr_(copy(given.axes_ptr)),
          group_nodes_(copy(given.group_nodes)) {
        const index groups = index(group_nodes_.size());
        const std::vector<index> ptr = copy(given.node_ptr);
        const std::vector<index> lengths = set_lengths(given, ptr);
        const index sets = index(lengths.size());
        pad_empty_groups();
        index at = 0;
        packed_.resize(std::size_t(sets));
        for (index s = 0; s < sets; ++s) {
            const index count = ptr[s + 1] - ptr[s];
            pack(packed_[s], count, lengths[s], given.nodes.data() + at,
                 given.amplitudes.data() + ptr[s]);
            at += count * lengths[s];
        }
        for (const Packed& p : packed_) {
            work_.any_loose = work_.any_loose || p.set.loose > 0;
            sets_.push_back(p.set);
        }
        work_.groups = groups;
        work_.axes_ptr = axes_ptr_.data();
        work_.axes = axes_.data();
        work_.group_nodes = group_nodes_.data();
        work_.sets = sets_.data();
        work_.constant = T(given.constant);
        for (index g = 0; g < groups; ++g) columns_ += 2 * sets_[group_nodes_[g]].count;
        work_.has_constant = given.constant != 0;
        columns_ += work_.has_constant;
    }
    FourierPlan(const FourierPlan&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Routines<T>& routines = routines_of<T>(isa_);
        check_status(run_routine(work_, in, to, kRows<T>, threads, routines.fourier_scratch,
                                 routines.fourier));
    }

   private:
    struct Packed {
        NodeSet<T> set;
        Aligned<T> panels, panel_amplitudes, singles, single_amplitudes;
    };

    // The number of axes of every node set, after checking that all arrays fit together.
    std::vector<index> set_lengths(const FourierFields& given, const std::vector<index>& ptr) const {
        const index groups = index(group_nodes_.size());
        require(index(axes_ptr_.size()) == groups + 1,
                "axes_ptr must have one more entry than group_nodes");
        check_pointer("axes_ptr", axes_ptr_, index(axes_.size()));
        check_indices("axes", axes_, features_);
        check_pointer("node_ptr", ptr, index(given.amplitudes.size()));
        const index sets = index(ptr.size()) - 1;
        check_indices("group_nodes", group_nodes_, sets);
        std::vector<index> lengths(std::size_t(sets), -1);
        for (index g = 0; g < groups; ++g) {
            index& length = lengths[std::size_t(group_nodes_[g])];
            const index axes = axes_ptr_[g + 1] - axes_ptr_[g];
            require(length < 0 || length == axes, "group ", g, " has ", axes,
                    " axes, but shares nodes of length ", length);
            length = axes;
        }
        index values = 0;
        for (index s = 0; s < sets; ++s) {
            require(lengths[s] >= 0, "node set ", s, " belongs to no group");
            values += (ptr[s + 1] - ptr[s]) * lengths[s];
        }
        require(values == index(given.nodes.size()), "nodes must have ", values, " values, not ",
                index(given.nodes.size()));
        return lengths;
    }

    // The routine needs at least one axis per group: an empty group gets axis 0, with nodes 0.
    void pad_empty_groups() {
        std::vector<index> axes, ptr{0};
        for (std::size_t g = 0; g + 1 < axes_ptr_.size(); ++g) {
            axes.insert(axes.end(), axes_.begin() + axes_ptr_[g], axes_.begin() + axes_ptr_[g + 1]);
            if (index(axes.size()) == ptr.back()) {
                require(features_ > 0, "a plan needs at least one column of X");
                axes.push_back(0);
            }
            ptr.push_back(index(axes.size()));
        }
        axes_.swap(axes);
        axes_ptr_.swap(ptr);
    }

    void pack(Packed& p, index count, index axes, const double* values, const double* amplitudes) {
        const index length = std::max<index>(axes, 1);
        const std::vector<double> none(std::size_t(axes == 0 ? count : 0));
        const double* nodes = axes == 0 ? none.data() : values;
        const index lanes = isa_.vector_bytes / index(sizeof(T));
        const index rest = count % lanes;
        // Costs in half-cycles: of a vector of nodes, and of scattering a loose node to its rows.
        const index vector_cost = length + 12, scatter_cost = 32;
        const bool loose =
            count < lanes || rest * (vector_cost + scatter_cost) < lanes * vector_cost;
        NodeSet<T>& set = p.set;
        set.count = count;
        set.axes = length;
        set.loose = loose ? rest : 0;
        set.vectors = (count - set.loose + lanes - 1) / lanes;
        for (index v = 0; v < set.vectors; ++v) {
            const index first = std::min(v * lanes, count - set.loose - lanes);
            for (index k = 0; k < length; ++k)
                for (index i = 0; i < lanes; ++i)
                    p.panels.push_back(half_turns<T>(nodes[(first + i) * length + k]));
            for (index i = 0; i < lanes; ++i)
                p.panel_amplitudes.push_back(T(amplitudes[first + i]));
        }
        for (index j = count - set.loose; j < count; ++j) {
            for (index k = 0; k < length; ++k)
                p.singles.push_back(half_turns<T>(nodes[j * length + k]));
            p.single_amplitudes.push_back(T(amplitudes[j]));
        }
        for (index j = 0; j < count; ++j) {
            double sum = 0;
            for (index k = 0; k < length; ++k)
                sum += std::fabs(double(half_turns<T>(nodes[j * length + k])));
            work_.largest_node = std::max(work_.largest_node, sum);
        }
        check_finite("nodes / pi", p.panels);
        check_finite("nodes / pi", p.singles);
        set.panels = p.panels.data();
        set.panel_amplitudes = p.panel_amplitudes.data();
        set.singles = p.singles.data();
        set.single_amplitudes = p.single_amplitudes.data();
    }

    const Isa& isa_;
    index features_, columns_ = 0;
    std::vector<index> axes_, axes_ptr_, group_nodes_;
    std::vector<Packed> packed_;
    std::vector<NodeSet<T>> sets_;
    FourierWork<T> work_{};
};

}  // namespace quadfeat
