// The expansions of a MercerBasis of plans.py, packed for one instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "isa.hpp"
#include "packing.hpp"
#include "run.hpp"
#include "work.hpp"

namespace quadfeat {

// Groups share a chunk while their tables fit into half of a first-level cache.
constexpr index kChunkBytes = 16 * 1024;
// The fields of all expansions, joined, as they come from Python (`mercer_fields` in dispatch.py).
// `axes_ptr`, `direction_ptr` and `column_ptr` cut axes (axis, scale, mean), directions (envelope,
// length, ratio, sizes) and columns (parent, direction, degree) into groups. The rotations (axes,
// directions) of the groups follow each other; a group with `reflections` has a rotation (axes,
// reflections) and a mixing (reflections, directions) instead.
struct MercerFields {
    index n_features;
    Vector<index> axes_ptr, direction_ptr, column_ptr, axes;
    Vector<double> scale, mean, rotation;
    Vector<index> reflections;
    Vector<double> mixing, envelope, length, ratio;
    Vector<index> sizes;
    Vector<double> amplitude;
    Vector<index> parent, direction, degree;

    explicit MercerFields(const nb::kwargs& given)
        : n_features(field<index>(given, "n_features")),
          axes_ptr(field<Vector<index>>(given, "axes_ptr")),
          direction_ptr(field<Vector<index>>(given, "direction_ptr")),
          column_ptr(field<Vector<index>>(given, "column_ptr")),
          axes(field<Vector<index>>(given, "axes")),
          scale(field<Vector<double>>(given, "scale")),
          mean(field<Vector<double>>(given, "mean")),
          rotation(field<Vector<double>>(given, "rotation")),
          reflections(field<Vector<index>>(given, "reflections")),
          mixing(field<Vector<double>>(given, "mixing")),
          envelope(field<Vector<double>>(given, "envelope")),
          length(field<Vector<double>>(given, "length")),
          ratio(field<Vector<double>>(given, "ratio")),
          sizes(field<Vector<index>>(given, "sizes")),
          amplitude(field<Vector<double>>(given, "amplitude")),
          parent(field<Vector<index>>(given, "parent")),
          direction(field<Vector<index>>(given, "direction")),
          degree(field<Vector<index>>(given, "degree")) {}
};

template <class T>
class MercerPlan {
   public:
    MercerPlan(const std::string& isa, const MercerFields& given)
        : isa_(find_isa(isa)),
          lanes_(isa_.vector_bytes / index(sizeof(T))),
          features_(given.n_features),
          axes_(copy(given.axes)),
          sizes_(copy(given.sizes)),
          axes_ptr_(copy(given.axes_ptr)),
          direction_ptr_(copy(given.direction_ptr)),
          column_ptr_(copy(given.column_ptr)) {
        check_lengths(given);
        scale_ = rounded("scale", given.scale);
        mean_ = rounded("mean", given.mean);
        envelope_ = rounded("envelope", given.envelope);
        length_ = rounded("length", given.length);
        const double reach = 0.9 * std::log(double(std::numeric_limits<T>::max()));
        for (const double value : copy(given.envelope)) {
            const double limit = std::sqrt(reach / value);
            limit_.push_back(T(std::min(limit, double(std::numeric_limits<T>::max()))));
        }
        add_recurrences(given.ratio);
        add_groups(given, pack_rotations(given));
    }
    MercerPlan(const MercerPlan&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Routines<T>& routines = routines_of<T>(isa_);
        const Status status = run_routine(work_, in, to, kMercerRows, threads,
                                          routines.mercer_scratch, routines.mercer);
        require(status == Status::ok, "X is not finite");
    }

   private:
    // The starts of the parts of a group in the packed arrays.
    struct Shape {
        index axes, directions, rotation, only, mixing = 0, straight = 0;
        bool picked = false;
    };
    struct Column {
        index parent;       // among the parents of the chunk, or -1 for the base
        index base, right;  // entries, counted in elements
        index kept;         // place among the parents of the chunk, or -1
    };

    void check_lengths(const MercerFields& given) const {
        const std::size_t groups = given.amplitude.size(), columns = given.parent.size();
        for (const auto* ptr : {&axes_ptr_, &direction_ptr_, &column_ptr_})
            require(ptr->size() == groups + 1,
                    "axes_ptr, direction_ptr and column_ptr must have one more entry than "
                    "amplitude");
        check_pointer("axes_ptr", axes_ptr_, index(axes_.size()));
        check_pointer("direction_ptr", direction_ptr_, index(sizes_.size()));
        check_pointer("column_ptr", column_ptr_, index(columns));
        check_indices("axes", axes_, features_);
        require(given.scale.size() == axes_.size() && given.mean.size() == axes_.size(),
                "scale and mean must have as many values as axes");
        require(given.envelope.size() == sizes_.size() && given.length.size() == sizes_.size() &&
                    given.ratio.size() == sizes_.size(),
                "envelope, length and ratio must have as many values as sizes");
        require(given.direction.size() == columns && given.degree.size() == columns,
                "direction and degree must have as many values as parent");
        require(given.reflections.size() == groups,
                "reflections must have as many values as amplitude");
        for (const index size : sizes_) require(size >= 1, "sizes holds ", size);
    }

    Aligned<T> rounded(const char* name, const Vector<double>& values) {
        Aligned<T> packed;
        for (std::size_t i = 0; i < values.size(); ++i) packed.push_back(T(values(i)));
        check_finite(name, packed);
        return packed;
    }

    // The factors of q_{k+1} = rise t q_k - fall q_{k-1}, for all directions one after another.
    void add_recurrences(const Vector<double>& ratio) {
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            for (index k = 0; k + 1 < sizes_[i]; ++k) {
                rise_.push_back(T(std::sqrt(2 * ratio(i) / double(k + 1))));
                fall_.push_back(T(ratio(i) * std::sqrt(double(k) / double(k + 1))));
            }
    }

    std::vector<Shape> pack_rotations(const MercerFields& given) {
        const Vector<double>&rotation = given.rotation, &mixing = given.mixing;
        index at = 0, mixed = 0;  // in rotation and mixing
        std::vector<Shape> shapes;
        for (std::size_t g = 0; g < given.amplitude.size(); ++g) {
            const index a = axes_ptr_[g + 1] - axes_ptr_[g];
            const index m = direction_ptr_[g + 1] - direction_ptr_[g];
            const index r = given.reflections(g), width = r > 0 ? r : m;
            require(a > 0 && m > 0, "group ", g, " has no axes, or no directions");
            require(r == 0 || (0 < r && r <= a && a == m), "group ", g, " has ", r,
                    " reflections of ", a, " axes and ", m, " directions");
            require(at + a * width <= index(rotation.size()), "rotation has too few values");
            require(mixed + r * m <= index(mixing.size()), "mixing has too few values");
            shapes.push_back({a, m, index(rotation_.size()), index(only_.size())});
            shapes.back().picked = r == 0 && pick_axes(a, m, rotation.data() + at);
            if (!shapes.back().picked) pack_rotation(a, width, rotation.data() + at);
            shapes.back().mixing = index(rotation_.size());
            shapes.back().straight = index(straight_.size());
            if (r > 0) {
                pack_rotation(r, m, mixing.data() + mixed);
                for (index i = 0; i < m; ++i)
                    straight_.push_back(T(given.scale(axes_ptr_[g] + i) /
                                          std::sqrt(given.length(direction_ptr_[g] + i))));
            }
            at += a * width;
            mixed += r * m;
        }
        require(at == index(rotation.size()), "rotation must have ", at, " values, not ",
                index(rotation.size()));
        require(mixed == index(mixing.size()), "mixing must have ", mixed, " values, not ",
                index(mixing.size()));
        check_finite("rotation", rotation_);
        check_finite("scale / sqrt(length)", straight_);
        return shapes;
    }

    void add_groups(const MercerFields& given, const std::vector<Shape>& shapes) {
        index terms = 0;
        for (std::size_t g = 0; g < shapes.size(); ++g) {
            const Shape& shape = shapes[g];
            const index first = direction_ptr_[g];
            MercerGroup<T> group{};
            group.axes = shape.axes;
            group.directions = shape.directions;
            group.axis = axes_.data() + axes_ptr_[g];
            group.scale = scale_.data() + axes_ptr_[g];
            group.mean = mean_.data() + axes_ptr_[g];
            group.rotation = rotation_.data() + shape.rotation;
            group.only = shape.picked ? only_.data() + shape.only : nullptr;
            group.reflections = given.reflections(g);
            group.mixing = rotation_.data() + shape.mixing;
            group.straight = straight_.data() + shape.straight;
            group.envelope = envelope_.data() + first;
            group.length = length_.data() + first;
            group.limit = limit_.data() + first;
            group.sizes = sizes_.data() + first;
            group.rise = rise_.data() + terms;
            group.fall = fall_.data() + terms;
            group.amplitude = T(given.amplitude(g));
            group.has_rest = shape.directions < shape.axes;
            const index column = column_ptr_[g], columns = column_ptr_[g + 1] - column;
            require(columns > 0, "group ", g, " has no columns");
            place(group, columns, given.parent.data() + column, given.direction.data() + column,
                  given.degree.data() + column);
            for (index i = 0; i < group.directions; ++i) terms += group.sizes[i] - 1;
            work_.most_axes = std::max(work_.most_axes, group.axes);
            work_.most_reflections = std::max(work_.most_reflections, group.reflections);
            groups_.push_back(group);
        }
        close_chunk();
        for (std::size_t c = 0; c < chunks_.size(); ++c) {
            chunks_[c].factors = factors_.data() + starts_[c].first;
            chunks_[c].parent_factors = parent_factors_.data() + starts_[c].second;
        }
        work_.groups = groups_.data();
        work_.chunk = chunks_.data();
        work_.chunks = index(chunks_.size());
    }

    void pack_rotation(index axes, index directions, const double* values) {
        for (index first = 0; first < axes; first += kMercerDepth<T>)
            for (index left = 0; left < directions; left += kMercerTile)
                for (index k = first; k < std::min(first + kMercerDepth<T>, axes); ++k)
                    for (index i = left; i < std::min(left + kMercerTile, directions); ++i)
                        rotation_.push_back(T(values[k * directions + i]));
    }

    // Whether every direction is a multiple of one axis; if so, stores these axes in `only_`.
    bool pick_axes(index axes, index directions, const double* values) {
        std::vector<index> axis_of(std::size_t(directions), -1);
        for (index k = 0; k < axes; ++k)
            for (index i = 0; i < directions; ++i)
                if (values[k * directions + i] != 0) {
                    if (axis_of[std::size_t(i)] >= 0) return false;
                    axis_of[std::size_t(i)] = k;
                }
        for (index i = 0; i < directions; ++i) {
            const index k = std::max<index>(axis_of[std::size_t(i)], 0);
            only_.push_back(k);
            rotation_.push_back(T(values[k * directions + i]));
        }
        return true;
    }

    // Adds the tables and the base of a group to the open chunk, or to a new one if they do not fit.
    void place(MercerGroup<T>& group, index columns, const index* parent, const index* direction,
               const index* degree) {
        check_columns(group, columns, parent, direction, degree);
        const index rows = std::accumulate(group.sizes, group.sizes + group.directions, index(0));
        std::vector<char> is_parent(std::size_t(columns), 0);
        for (index j = 0; j < columns; ++j)
            if (parent[j] >= 0) is_parent[std::size_t(parent[j])] = 1;
        const index parents = std::count(is_parent.begin(), is_parent.end(), 1);
        const index entries = entries_ + open_.parents + rows + 1 + parents;
        if (open_.last > open_.first && entries * isa_.vector_bytes > kChunkBytes) close_chunk();
        group.table = entries_ * lanes_;
        group.base = (entries_ + rows) * lanes_;
        group.t = directions_;
        std::vector<index> table;  // the first entry of each direction
        for (index i = 0; i < group.directions; ++i) {
            table.push_back(entries_);
            entries_ += group.sizes[i];
        }
        entries_ += 1;
        directions_ += group.directions;
        const index first = index(open_columns_.size());
        for (index j = 0; j < columns; ++j) {
            Column column;
            column.parent = parent[j] < 0 ? -1 : open_columns_[std::size_t(first + parent[j])].kept;
            column.base = group.base;
            column.right = (table[std::size_t(direction[j])] + degree[j]) * lanes_;
            column.kept = is_parent[std::size_t(j)] ? open_.parents++ : -1;
            open_columns_.push_back(column);
        }
        open_.last += 1;
        open_.columns += columns;
    }

    void check_columns(const MercerGroup<T>& group, index columns, const index* parent,
                       const index* direction, const index* degree) {
        for (index j = 0; j < columns; ++j) {
            require(-1 <= parent[j] && parent[j] < j, "parent of column ", j, " is ", parent[j],
                    ", not a column before it");
            require(0 <= direction[j] && direction[j] < group.directions, "direction holds ",
                    direction[j], ", which is outside [0, ", group.directions, ")");
            require(0 <= degree[j] && degree[j] < group.sizes[direction[j]], "degree holds ",
                    degree[j], ", but direction ", direction[j], " has a table of size ",
                    group.sizes[direction[j]]);
        }
    }

    // Cuts the columns of the open chunk into vectors: the last may overlap the one before it, so
    // that every store is a whole vector.
    void close_chunk() {
        if (open_columns_.empty()) return;
        const index entries = entries_ + open_.parents;
        require(entries <= std::numeric_limits<std::int32_t>::max() / lanes_, "too many columns");
        open_.parent = entries_ * lanes_;
        open_.column = columns_;
        open_.vectors = open_.columns < lanes_ ? 0 : (open_.columns + lanes_ - 1) / lanes_;
        starts_.push_back({index(factors_.size()), index(parent_factors_.size())});
        for (const Column& column : open_columns_)
            if (column.kept >= 0) add_factors(parent_factors_, column);
        for (index v = 0; v < std::max<index>(open_.vectors, 1); ++v) {
            const index count = std::min(lanes_, open_.columns);
            const index first = std::min(v * lanes_, open_.columns - count);
            for (index c = first; c < first + count; ++c)
                add_factors(factors_, open_columns_[std::size_t(c)]);
        }
        columns_ += open_.columns;
        work_.most_entries = std::max(work_.most_entries, entries);
        work_.most_directions = std::max(work_.most_directions, directions_);
        work_.most_groups = std::max(work_.most_groups, open_.last - open_.first);
        chunks_.push_back(open_);
        const index next = open_.last;
        open_ = MercerChunk{};
        open_.first = open_.last = next;
        open_columns_.clear();
        entries_ = directions_ = 0;
    }

    void add_factors(Aligned<std::int32_t>& to, const Column& column) {
        const index left = column.parent < 0 ? column.base : open_.parent + column.parent * lanes_;
        to.push_back(std::int32_t(left));
        to.push_back(std::int32_t(column.right));
    }

    const Isa& isa_;
    index lanes_, features_, columns_ = 0;
    std::vector<index> axes_, sizes_, axes_ptr_, direction_ptr_, column_ptr_, only_;
    Aligned<T> scale_, mean_, rotation_, straight_, envelope_, length_, limit_, rise_, fall_;
    std::vector<MercerGroup<T>> groups_;
    std::vector<MercerChunk> chunks_;
    Aligned<std::int32_t> factors_, parent_factors_;
    std::vector<std::pair<index, index>> starts_;  // of every chunk in factors_ and parent_factors_
    // The chunk that is being filled; `entries_` counts its entries without the parents.
    MercerChunk open_{};
    std::vector<Column> open_columns_;
    index entries_ = 0, directions_ = 0;
    MercerWork<T> work_{};
};

}  // namespace quadfeat
