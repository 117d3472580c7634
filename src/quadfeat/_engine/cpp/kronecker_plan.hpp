// A KroneckerPlan of plans.py, packed for one instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "arguments.hpp"
#include "isa.hpp"
#include "packing.hpp"
#include "run.hpp"
#include "work.hpp"

namespace quadfeat {

// The fields of a KroneckerPlan, as they come from Python.
struct KroneckerFields {
    index n_features;
    Vector<index> entry_axis, entry_ptr;
    Vector<double> entry_nodes, entry_amplitudes, entry_middle;
    Vector<index> group_ptr, group_entries;
    Vector<double> group_scale;

    explicit KroneckerFields(const nb::kwargs& given)
        : n_features(field<index>(given, "n_features")),
          entry_axis(field<Vector<index>>(given, "entry_axis")),
          entry_ptr(field<Vector<index>>(given, "entry_ptr")),
          entry_nodes(field<Vector<double>>(given, "entry_nodes")),
          entry_amplitudes(field<Vector<double>>(given, "entry_amplitudes")),
          entry_middle(field<Vector<double>>(given, "entry_middle")),
          group_ptr(field<Vector<index>>(given, "group_ptr")),
          group_entries(field<Vector<index>>(given, "group_entries")),
          group_scale(field<Vector<double>>(given, "group_scale")) {}
};

template <class T>
class KroneckerPlan {
   public:
    KroneckerPlan(const std::string& isa, const KroneckerFields& given)
        : isa_(find_isa(isa)),
          features_(given.n_features),
          entry_axis_(copy(given.entry_axis)),
          entry_ptr_(copy(given.entry_ptr)),
          group_ptr_(copy(given.group_ptr)),
          group_entries_(copy(given.group_entries)) {
        const index entries = index(entry_axis_.size());
        const index groups = index(given.group_scale.size());
        check_lengths(given);
        const Vector<double>&entry_middle = given.entry_middle, &group_scale = given.group_scale;
        for (const double node : copy(given.entry_nodes)) {
            nodes_.push_back(half_turns<T>(node));
            work_.largest_node = std::max(work_.largest_node, std::fabs(double(nodes_.back())));
        }
        check_finite("nodes / pi", nodes_);
        for (const double a : copy(given.entry_amplitudes)) amplitudes_.push_back(T(a));
        for (const double a : copy(entry_middle)) middle_.push_back(T(a));
        for (const double a : copy(group_scale)) scale_.push_back(T(a));
        feature_ptr_.push_back(0);
        for (index t = 0; t < entries; ++t)
            feature_ptr_.push_back(feature_ptr_.back() + 2 * (entry_ptr_[t + 1] - entry_ptr_[t]) +
                                   (entry_middle(t) != 0));
        double constant = 0;
        bool has_constant = false;
        for (index g = 0; g < groups; ++g) {
            require(group_ptr_[g] < group_ptr_[g + 1], "group ", g, " has no entries");
            double first = group_scale(g);
            index prefix = 1, width = 1;
            bool drops = true;
            for (index e = group_ptr_[g]; e < group_ptr_[g + 1]; ++e) {
                const index t = group_entries_[e];
                prefix *= width;
                width = feature_ptr_[t + 1] - feature_ptr_[t];
                require(width == 0 || prefix <= std::numeric_limits<index>::max() / 4096 / width,
                        "group ", g, " has too many columns");
                first *= entry_middle(t);
                drops = drops && entry_middle(t) != 0;
            }
            has_constant = has_constant || drops;
            if (drops) constant += first * first;
            columns_ += prefix * width - drops;
            group_columns_.push_back(prefix * width - drops);
            group_factors_.push_back(add_factors(prefix, width, drops));
            work_.largest_prefix = std::max(work_.largest_prefix, prefix);
        }
        work_.constant = T(std::sqrt(constant));
        work_.has_constant = has_constant;
        columns_ += work_.has_constant;
        work_.entries = entries;
        work_.features = feature_ptr_.back();
        work_.entry_axis = entry_axis_.data();
        work_.entry_ptr = entry_ptr_.data();
        work_.feature_ptr = feature_ptr_.data();
        work_.nodes = nodes_.data();
        work_.amplitudes = amplitudes_.data();
        work_.middle = middle_.data();
        work_.groups = groups;
        work_.group_ptr = group_ptr_.data();
        work_.group_entries = group_entries_.data();
        work_.group_scale = scale_.data();
        work_.factors = factors_.data();
        work_.group_factors = group_factors_.data();
        work_.group_columns = group_columns_.data();
    }
    KroneckerPlan(const KroneckerPlan&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Routines<T>& routines = routines_of<T>(isa_);
        check_status(run_routine(work_, in, to, kRows<T>, threads, routines.kronecker_scratch,
                                 routines.kronecker));
    }

   private:
    void check_lengths(const KroneckerFields& given) const {
        const index entries = index(entry_axis_.size());
        require(index(entry_ptr_.size()) == entries + 1,
                "entry_ptr must have one more entry than entry_axis");
        require(index(given.entry_middle.size()) == entries,
                "entry_middle must have as many values as entry_axis");
        require(given.entry_nodes.size() == given.entry_amplitudes.size(),
                "entry_amplitudes must have as many values as entry_nodes");
        require(group_ptr_.size() == given.group_scale.size() + 1,
                "group_ptr must have one more entry than group_scale");
        check_pointer("entry_ptr", entry_ptr_, index(given.entry_nodes.size()));
        check_pointer("group_ptr", group_ptr_, index(group_entries_.size()));
        check_indices("entry_axis", entry_axis_, features_);
        check_indices("group_entries", group_entries_, entries);
    }

    // The start of the factors of a group of this shape; see KroneckerWork.
    index add_factors(index prefix, index width, bool drops) {
        const auto [place, is_new] =
            shapes_.try_emplace({prefix, width, drops}, index(factors_.size()) / 2);
        if (is_new) {
            const index lanes = isa_.vector_bytes / index(sizeof(T));
            for (index c = drops; c < prefix * width; ++c) {
                factors_.push_back(c / width * lanes);
                factors_.push_back(c % width * lanes);
            }
        }
        return place->second;
    }

    const Isa& isa_;
    index features_, columns_ = 0;
    std::vector<index> entry_axis_, entry_ptr_, feature_ptr_, group_ptr_, group_entries_;
    std::vector<T> nodes_, amplitudes_, middle_, scale_;
    std::vector<index> factors_, group_factors_, group_columns_;
    std::map<std::tuple<index, index, bool>, index> shapes_;
    KroneckerWork<T> work_{};
};

}  // namespace quadfeat
