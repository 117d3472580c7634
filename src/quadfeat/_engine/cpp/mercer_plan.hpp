// The plan of Hermite-Mercer features, packed for the kernels. Included by core.cpp only, whose
// helpers it uses.
#pragma once

#include <numeric>
#include <utility>

namespace quadfeat {
namespace {

// Groups share a chunk while their tables fit into half of a first-level cache.
constexpr index kChunkBytes = 16 * 1024;
// Terms of a recurrence, at most: more could lift a zero from `lowest` in exp.hpp.
constexpr index kMostTerms = 1 << 16;

template <class T>
class Mercer {
   public:
    // Everything is joined over groups: `axes_ptr`, `direction_ptr` and `column_ptr` cut axes
    // (axis, scale, mean), directions (envelope, length, ratio, sizes) and columns (parent,
    // direction, degree). The rotations (axes, directions) follow each other; where there are
    // `reflections`, those are (axes, reflections), and theirs are mixings (reflections, directions).
    Mercer(const std::string& isa, index features, const Vector<index>& axes_ptr,
           const Vector<index>& direction_ptr, const Vector<index>& column_ptr,
           const Vector<index>& axes, const Vector<double>& scale, const Vector<double>& mean,
           const Vector<double>& rotation, const Vector<index>& reflections,
           const Vector<double>& mixing, const Vector<double>& envelope,
           const Vector<double>& length, const Vector<double>& ratio, const Vector<index>& sizes,
           const Vector<double>& amplitude, const Vector<index>& parent,
           const Vector<index>& direction, const Vector<index>& degree)
        : isa_(find_isa(isa)),
          lanes_(isa_.vector_bytes / index(sizeof(T))),
          features_(features),
          axes_(copy(axes)),
          sizes_(copy(sizes)) {
        const std::vector<index> cut_axes = copy(axes_ptr), cut_directions = copy(direction_ptr),
                                 cut_columns = copy(column_ptr);
        const index groups = index(amplitude.size());
        for (const auto* cut : {&cut_axes, &cut_directions, &cut_columns})
            require(index(cut->size()) == groups + 1,
                    "axes_ptr, direction_ptr and column_ptr must have one more entry than "
                    "amplitude");
        check_pointer("axes_ptr", cut_axes, index(axes.size()));
        check_pointer("direction_ptr", cut_directions, index(sizes.size()));
        check_pointer("column_ptr", cut_columns, index(parent.size()));
        check_indices("axes", axes_, features);
        require(scale.size() == axes.size() && mean.size() == axes.size(),
                "scale and mean must have as many values as axes");
        require(envelope.size() == sizes.size() && length.size() == sizes.size() &&
                    ratio.size() == sizes.size(),
                "envelope, length and ratio must have as many values as sizes");
        require(direction.size() == parent.size() && degree.size() == parent.size(),
                "direction and degree must have as many values as parent");
        require(index(reflections.size()) == groups,
                "reflections must have as many values as amplitude");
        for (const Vector<double>* values :
             {&scale, &mean, &rotation, &mixing, &envelope, &length, &ratio, &amplitude})
            check_finite("every value of the plan", copy(*values));
        for (const auto* values : {&envelope, &ratio})
            for (const double value : copy(*values))
                require(value >= 0, "envelope and ratio must not be negative");
        for (const index size : sizes_)
            require(1 <= size && size <= kMostTerms, "sizes holds ", size,
                    ", which is outside [1, ", kMostTerms, "]");

        scale_ = rounded("scale", scale);
        mean_ = rounded("mean", mean);
        envelope_ = rounded("envelope", envelope);
        length_ = rounded("length", length);
        const double reach = 0.9 * std::log(double(std::numeric_limits<T>::max()));
        for (const double value : copy(envelope)) {
            const double limit = std::sqrt(reach / value);
            limit_.push_back(T(std::min(limit, double(std::numeric_limits<T>::max()))));
        }
        recurrences(ratio);

        index at = 0, mixed = 0;  // in rotation and mixing
        std::vector<Shape> shapes;
        for (index g = 0; g < groups; ++g) {
            const index a = cut_axes[g + 1] - cut_axes[g];
            const index m = cut_directions[g + 1] - cut_directions[g];
            const index r = reflections(g), width = r > 0 ? r : m;
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
                    straight_.push_back(T(scale(cut_axes[g] + i) /
                                          std::sqrt(length(cut_directions[g] + i))));
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

        index terms = 0;
        for (index g = 0; g < groups; ++g) {
            const Shape& shape = shapes[std::size_t(g)];
            const index first = cut_directions[g];
            MercerGroup<T> group{};
            group.axes = shape.axes;
            group.directions = shape.directions;
            group.axis = axes_.data() + cut_axes[g];
            group.scale = scale_.data() + cut_axes[g];
            group.mean = mean_.data() + cut_axes[g];
            group.rotation = rotation_.data() + shape.rotation;
            group.only = shape.picked ? only_.data() + shape.only : nullptr;
            group.reflections = reflections(g);
            group.mixing = rotation_.data() + shape.mixing;
            group.straight = straight_.data() + shape.straight;
            group.envelope = envelope_.data() + first;
            group.length = length_.data() + first;
            group.limit = limit_.data() + first;
            group.sizes = sizes_.data() + first;
            group.rise = rise_.data() + terms;
            group.fall = fall_.data() + terms;
            group.amplitude = T(amplitude(g));
            group.has_rest = shape.directions < shape.axes;
            const index columns = cut_columns[g + 1] - cut_columns[g];
            require(columns > 0, "group ", g, " has no columns");
            place(group, columns, parent.data() + cut_columns[g], direction.data() + cut_columns[g],
                  degree.data() + cut_columns[g]);
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
    Mercer(const Mercer&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Kernels<T>& kernels = kernels_of<T>(isa_);
        const Status status = run_kernel(work_, in, to, kMercerRows, threads,
                                         kernels.mercer_scratch, kernels.mercer);
        require(status == Status::ok, "X is not finite");
    }

   private:
    struct Shape {
        index axes, directions, rotation, only, mixing = 0, straight = 0;
        bool picked = false;
    };
    struct Column {
        index parent;       // among the parents of the chunk, or -1 for the base
        index base, right;  // entries, counted in elements
        index kept;         // place among the parents of the chunk, or -1
    };

    Aligned<T> rounded(const char* name, const Vector<double>& values) {
        Aligned<T> found;
        for (const double value : copy(values)) found.push_back(T(value));
        check_finite(name, found);
        return found;
    }

    // The factors of q_{k+1} = rise t q_k - fall q_{k-1}, for all directions one after another.
    void recurrences(const Vector<double>& ratio) {
        for (std::size_t i = 0; i < sizes_.size(); ++i)
            for (index k = 0; k + 1 < sizes_[i]; ++k) {
                rise_.push_back(T(std::sqrt(2 * ratio(i) / double(k + 1))));
                fall_.push_back(T(ratio(i) * std::sqrt(double(k) / double(k + 1))));
            }
    }

    void pack_rotation(index axes, index directions, const double* values) {
        for (index first = 0; first < axes; first += kMercerDepth<T>)
            for (index left = 0; left < directions; left += kMercerTile)
                for (index k = first; k < std::min(first + kMercerDepth<T>, axes); ++k)
                    for (index i = left; i < std::min(left + kMercerTile, directions); ++i)
                        rotation_.push_back(T(values[k * directions + i]));
    }

    // Whether every direction is a multiple of one axis; if so, these are kept.
    bool pick_axes(index axes, index directions, const double* values) {
        std::vector<index> found(std::size_t(directions), -1);
        for (index k = 0; k < axes; ++k)
            for (index i = 0; i < directions; ++i)
                if (values[k * directions + i] != 0) {
                    if (found[std::size_t(i)] >= 0) return false;
                    found[std::size_t(i)] = k;
                }
        for (index i = 0; i < directions; ++i) {
            const index k = std::max<index>(found[std::size_t(i)], 0);
            only_.push_back(k);
            rotation_.push_back(T(values[k * directions + i]));
        }
        return true;
    }

    // The tables and the base of a group become entries of the open chunk, or of a new one.
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
        std::vector<index> table;  // the first entry of each direction's
        for (index i = 0; i < group.directions; ++i) {
            table.push_back(entries_);
            entries_ += group.sizes[i];
        }
        entries_ += 1;
        directions_ += group.directions;
        const index first = index(own_.size());
        for (index j = 0; j < columns; ++j) {
            Column column;
            column.parent = parent[j] < 0 ? -1 : own_[std::size_t(first + parent[j])].kept;
            column.base = group.base;
            column.right = (table[std::size_t(direction[j])] + degree[j]) * lanes_;
            column.kept = is_parent[std::size_t(j)] ? open_.parents++ : -1;
            own_.push_back(column);
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

    // The columns of the open chunk, cut into vectors: the last may overlap the one before it, so
    // that every store is a whole vector.
    void close_chunk() {
        if (own_.empty()) return;
        const index entries = entries_ + open_.parents;
        require(entries <= std::numeric_limits<std::int32_t>::max() / lanes_, "too many columns");
        open_.parent = entries_ * lanes_;
        open_.column = columns_;
        open_.vectors = open_.columns < lanes_ ? 0 : (open_.columns + lanes_ - 1) / lanes_;
        starts_.push_back({index(factors_.size()), index(parent_factors_.size())});
        for (const Column& column : own_)
            if (column.kept >= 0) add_factors(parent_factors_, column);
        for (index v = 0; v < std::max<index>(open_.vectors, 1); ++v) {
            const index count = std::min(lanes_, open_.columns);
            const index first = std::min(v * lanes_, open_.columns - count);
            for (index c = first; c < first + count; ++c)
                add_factors(factors_, own_[std::size_t(c)]);
        }
        columns_ += open_.columns;
        work_.most_entries = std::max(work_.most_entries, entries);
        work_.most_directions = std::max(work_.most_directions, directions_);
        work_.most_groups = std::max(work_.most_groups, open_.last - open_.first);
        chunks_.push_back(open_);
        const index next = open_.last;
        open_ = MercerChunk{};
        open_.first = open_.last = next;
        own_.clear();
        entries_ = directions_ = 0;
    }

    void add_factors(Aligned<std::int32_t>& to, const Column& column) {
        const index left = column.parent < 0 ? column.base : open_.parent + column.parent * lanes_;
        to.push_back(std::int32_t(left));
        to.push_back(std::int32_t(column.right));
    }

    const Isa& isa_;
    index lanes_, features_, columns_ = 0;
    std::vector<index> axes_, sizes_, only_;
    Aligned<T> scale_, mean_, rotation_, straight_, envelope_, length_, limit_, rise_, fall_;
    std::vector<MercerGroup<T>> groups_;
    std::vector<MercerChunk> chunks_;
    Aligned<std::int32_t> factors_, parent_factors_;
    std::vector<std::pair<index, index>> starts_;  // of the chunks, in both
    // The chunk that is being filled, with its entries but for the parents.
    MercerChunk open_{};
    std::vector<Column> own_;
    index entries_ = 0, directions_ = 0;
    MercerWork<T> work_{};
};

template <class T>
void exp_of(const std::string& isa, const Vector<T>& x,
            const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& to) {
    require(to.size() == x.size(), "to must be as long as x");
    kernels_of<T>(find_isa(isa)).exp(x.data(), to.data(), index(x.size()));
}

template <class T>
void bind_mercer(nb::module_& m, const char* name) {
    using Indices = const Vector<index>&;
    using Doubles = const Vector<double>&;
    nb::class_<Mercer<T>>(m, name)
        .def(nb::init<const std::string&, index, Indices, Indices, Indices, Indices, Doubles,
                      Doubles, Doubles, Indices, Doubles, Doubles, Doubles, Doubles, Indices,
                      Doubles, Indices, Indices, Indices>(),
             nb::arg("isa"), nb::arg("n_features"), nb::arg("axes_ptr"), nb::arg("direction_ptr"),
             nb::arg("column_ptr"), nb::arg("axes"), nb::arg("scale"), nb::arg("mean"),
             nb::arg("rotation"), nb::arg("reflections"), nb::arg("mixing"), nb::arg("envelope"),
             nb::arg("length"), nb::arg("ratio"), nb::arg("sizes"), nb::arg("amplitude"),
             nb::arg("parent"), nb::arg("direction"), nb::arg("degree"))
        .def_prop_ro("columns", &Mercer<T>::columns)
        .def("run", &Mercer<T>::run, nb::arg("X").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads"), nb::arg("way") = -1);
    m.def("exp", &exp_of<T>, nb::arg("isa"), nb::arg("x").noconvert(), nb::arg("to").noconvert());
}

}  // namespace
}  // namespace quadfeat
