// The Python module `quadfeat._engine._core`: checks its arguments, packs plans, picks the
// instruction set and shares rows among threads. Arithmetic is in kernels.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "work.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace quadfeat {
namespace {

// Vectors that start on a cache line: a vector load that straddles two lines costs twice.
template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t count) {
        const std::size_t line = kLine;
        void* p = std::aligned_alloc(line, (count * sizeof(T) + line - 1) / line * line);
        if (!p) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    template <class U>
    bool operator==(const LineAllocator<U>&) const { return true; }
    template <class U>
    bool operator!=(const LineAllocator<U>&) const { return false; }
};
template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

// ---- instruction sets ---------------------------------------------------------------------------

// Those compiled in and supported by this processor, the best first.
std::vector<const Isa*> supported() {
    std::vector<const Isa*> found;
#if defined(QUADFEAT_X86_UNITS)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        found.push_back(&isa_avx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&isa_avx2);
#endif
    found.push_back(&isa_baseline);
    return found;
}

const Isa& find_isa(const std::string& name) {
    std::string names;
    for (const Isa* isa : supported()) {
        if (name == isa->name) return *isa;
        names += std::string(names.empty() ? "" : ", ") + isa->name;
    }
    throw std::invalid_argument("instruction set '" + name + "' is not available here; choose from " +
                                names);
}

template <class T>
const Kernels<T>& kernels_of(const Isa& isa) {
    if constexpr (sizeof(T) == 4) return isa.f32;
    else return isa.f64;
}

// ---- arguments ----------------------------------------------------------------------------------

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Target = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

// The parts of the message are joined only if it is needed: most checks run once per value.
template <class... Parts>
void require(bool holds, const Parts&... otherwise) {
    if (holds) return;
    std::ostringstream message;
    (message << ... << otherwise);
    throw std::invalid_argument(message.str());
}

std::vector<index> copy(const Vector<index>& a) {
    return std::vector<index>(a.data(), a.data() + a.size());
}
std::vector<double> copy(const Vector<double>& a) {
    return std::vector<double>(a.data(), a.data() + a.size());
}

// Offsets must start at 0, never fall, and end at the length of what they cut.
void check_pointer(const char* name, const std::vector<index>& ptr, index total) {
    require(!ptr.empty() && ptr.front() == 0 && ptr.back() == total &&
                std::is_sorted(ptr.begin(), ptr.end()),
            name, " must rise from 0 to ", total);
}

void check_indices(const char* name, const std::vector<index>& values, index count) {
    for (const index value : values)
        require(0 <= value && value < count, name, " holds ", value, ", which is outside [0, ",
                count, ")");
}

index cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (level2 > 0) return level2;
#endif
    return 1 << 20;
}

template <class T>
Input<T> input_of(const Matrix<T>& X, index features) {
    require(index(X.shape(1)) == features, "X has ", index(X.shape(1)),
            " columns, but the plan is for ", features);
    return {X.data(), index(X.shape(0)), index(X.shape(1)), X.stride(0), X.stride(1)};
}

// The way to memory for a large output. On an AMD Zen 4 fetching ahead was 1.0 to 1.3 times as fast as
// stores around the cache (W1 to W4 of `quadfeat bench`), and other AMD processors are taken to
// be alike; elsewhere plain stores were seen to reach a third of the bandwidth of those around.
Way way_of_large() {
#if defined(QUADFEAT_X86_UNITS)
    if (__builtin_cpu_is("amd")) return Way::fetched;
#endif
    return Way::around;
}

// way: a Way, or -1 to choose by the size of the output.
template <class T>
Output<T> output_of(const Target<T>& out, index rows, index columns, int way) {
    require(index(out.shape(0)) == rows && index(out.shape(1)) == columns, "out has shape (",
            index(out.shape(0)), ", ", index(out.shape(1)), "), but must have (", rows, ", ",
            columns, ")");
    require(rows == 0 || columns <= 1 || out.stride(1) == 1, "the rows of out must be contiguous");
    require(rows <= 1 || out.stride(0) >= columns, "the rows of out must not overlap");
    require(-1 <= way && way <= 2, "way must be -1, 0, 1 or 2");
    static const index large = 2 * cache_bytes();
    const bool is_large = rows * columns * index(sizeof(T)) > large;
    const Way chosen = way >= 0 ? Way(way) : is_large ? way_of_large() : Way::cached;
    return {out.data(), rows, columns, rows > 1 ? index(out.stride(0)) : columns, chosen};
}

// Asks Python now and then whether a signal came whose handler raises, as that of Ctrl-C does. Handlers
// run on Python's main thread only: on others there is nothing to ask, and no lock to wait for.
class Signals {
   public:
    // To be made with Python's lock, and asked without, once per block of so many output elements.
    explicit Signals(index block_elements)
        : every_(kElements / std::max<index>(block_elements, 1) + 1), next_(Clock::now() + kPause) {
        const nb::module_ threading = nb::module_::import_("threading");
        asks_ = threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
    }

    bool operator()() {
        if (!asks_ || ++blocks_ % every_ != 0 || Clock::now() < next_) return false;
        next_ = Clock::now() + kPause;
        nb::gil_scoped_acquire lock;
        return PyErr_CheckSignals() != 0;
    }

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPause = std::chrono::milliseconds(50);
    static constexpr index kElements = 1 << 14;  // of which the clock takes no time

    index every_, blocks_ = 0;
    Clock::time_point next_;
    bool asks_;
};

// All rows of X through one kernel, blocks of them on several threads, without Python's lock.
template <class T, class Work>
Status run_kernel(const Work& work, const Input<T>& in, const Output<T>& to, index block,
                  index threads, index (*scratch_bytes)(const Work&, const Input<T>&),
                  Status (*kernel)(const Work&, const Input<T>&, const Output<T>&, index, index,
                                   void*)) {
    const auto all = [&](auto interrupted) {
        nb::gil_scoped_release release;
        return share_rows(
            in.rows, to.columns, block, threads, scratch_bytes(work, in),
            [&](index begin, index end, void* scratch) {
                return kernel(work, in, to, begin, end, scratch);
            },
            interrupted);
    };
    // Below this many products a call is over within milliseconds.
    constexpr double kShort = 1 << 22;
    if (double(in.rows) * double(in.columns) * double(to.columns) < kShort) return all(Never{});
    const Status status = all(Signals(block * to.columns));
    if (status == Status::interrupted) throw nb::python_error();
    return status;
}

void check_status(Status status) {
    require(status == Status::ok,
            "X is not finite, or so large that x . node overflows its floating-point type");
}

constexpr long double kPi = 3.14159265358979323846264338327950288L;

// A frequency in half-turns, rounded once.
template <class T>
T half_turns(double node) {
    return T(static_cast<long double>(node) / kPi);
}

template <class Values>
void check_finite(const char* name, const Values& values) {
    for (const auto value : values) require(std::isfinite(value), name, " must be finite");
}

// ---- plans --------------------------------------------------------------------------------------

template <class T>
class Fourier {
   public:
    Fourier(const std::string& isa, index features, const Vector<index>& axes,
            const Vector<index>& axes_ptr, const Vector<index>& group_nodes,
            const Vector<double>& nodes, const Vector<index>& node_ptr,
            const Vector<double>& amplitudes, double constant)
        : isa_(find_isa(isa)),
          features_(features),
          axes_(copy(axes)),
          axes_ptr_(copy(axes_ptr)),
          group_nodes_(copy(group_nodes)) {
        const index groups = index(group_nodes_.size());
        require(index(axes_ptr_.size()) == groups + 1,
                "axes_ptr must have one more entry than group_nodes");
        check_pointer("axes_ptr", axes_ptr_, index(axes_.size()));
        check_indices("axes", axes_, features);
        const std::vector<index> ptr = copy(node_ptr);
        check_pointer("node_ptr", ptr, index(amplitudes.size()));
        const index sets = index(ptr.size()) - 1;
        check_indices("group_nodes", group_nodes_, sets);
        check_finite("nodes", copy(nodes));
        check_finite("amplitudes", copy(amplitudes));
        require(std::isfinite(constant), "constant must be finite");

        std::vector<index> lengths(std::size_t(sets), -1);  // axes of a set
        for (index g = 0; g < groups; ++g) {
            index& length = lengths[std::size_t(group_nodes_[g])];
            const index own = axes_ptr_[g + 1] - axes_ptr_[g];
            require(length < 0 || length == own, "group ", g, " has ", own,
                    " axes, but shares nodes of length ", length);
            length = own;
        }
        index values = 0;
        for (index s = 0; s < sets; ++s) {
            require(lengths[s] >= 0, "node set ", s, " belongs to no group");
            values += (ptr[s + 1] - ptr[s]) * lengths[s];
        }
        require(values == index(nodes.size()), "nodes must have ", values, " values, not ",
                index(nodes.size()));
        pad_empty_groups();
        index at = 0;
        packed_.resize(std::size_t(sets));
        for (index s = 0; s < sets; ++s) {
            const index count = ptr[s + 1] - ptr[s];
            pack(packed_[s], count, lengths[s], nodes.data() + at, amplitudes.data() + ptr[s]);
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
        work_.constant = T(constant);
        for (index g = 0; g < groups; ++g) columns_ += 2 * sets_[group_nodes_[g]].count;
        work_.has_constant = constant != 0;
        columns_ += work_.has_constant;
    }
    Fourier(const Fourier&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Kernels<T>& kernels = kernels_of<T>(isa_);
        check_status(run_kernel(work_, in, to, kRows<T>, threads, kernels.fourier_scratch,
                                kernels.fourier));
    }

   private:
    struct Packed {
        NodeSet<T> set;
        Aligned<T> panels, panel_amplitudes, singles, single_amplitudes;
    };

    // The kernel wants at least one axis per group: one without any looks at axis 0, with nodes 0.
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
        // Half-cycles of a vector of nodes, and of scattering a loose node to its rows.
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

template <class T>
class Kronecker {
   public:
    Kronecker(const std::string& isa, index features, const Vector<index>& entry_axis,
              const Vector<index>& entry_ptr, const Vector<double>& entry_nodes,
              const Vector<double>& entry_amplitudes, const Vector<double>& entry_middle,
              const Vector<index>& group_ptr, const Vector<index>& group_entries,
              const Vector<double>& group_scale)
        : isa_(find_isa(isa)),
          features_(features),
          entry_axis_(copy(entry_axis)),
          entry_ptr_(copy(entry_ptr)),
          group_ptr_(copy(group_ptr)),
          group_entries_(copy(group_entries)) {
        const index entries = index(entry_axis_.size());
        const index groups = index(group_scale.size());
        require(index(entry_ptr_.size()) == entries + 1,
                "entry_ptr must have one more entry than entry_axis");
        require(index(entry_middle.size()) == entries,
                "entry_middle must have as many values as entry_axis");
        require(entry_nodes.size() == entry_amplitudes.size(),
                "entry_amplitudes must have as many values as entry_nodes");
        require(index(group_ptr_.size()) == groups + 1,
                "group_ptr must have one more entry than group_scale");
        check_pointer("entry_ptr", entry_ptr_, index(entry_nodes.size()));
        check_pointer("group_ptr", group_ptr_, index(group_entries_.size()));
        check_indices("entry_axis", entry_axis_, features);
        check_indices("group_entries", group_entries_, entries);
        for (const Vector<double>* a :
             {&entry_nodes, &entry_amplitudes, &entry_middle, &group_scale})
            check_finite("every value of the plan", copy(*a));

        for (const double node : copy(entry_nodes)) {
            nodes_.push_back(half_turns<T>(node));
            work_.largest_node = std::max(work_.largest_node, std::fabs(double(nodes_.back())));
        }
        check_finite("nodes / pi", nodes_);
        for (const double a : copy(entry_amplitudes)) amplitudes_.push_back(T(a));
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
    Kronecker(const Kronecker&) = delete;

    index columns() const { return columns_; }

    void run(const Matrix<T>& X, const Target<T>& out, index threads, int way) const {
        const Input<T> in = input_of(X, features_);
        const Output<T> to = output_of(out, in.rows, columns_, way);
        const Kernels<T>& kernels = kernels_of<T>(isa_);
        check_status(run_kernel(work_, in, to, kRows<T>, threads, kernels.kronecker_scratch,
                                kernels.kronecker));
    }

   private:
    // Where the factors of a group of this shape start; see KroneckerWork.
    index add_factors(index prefix, index width, bool drops) {
        const auto [found, is_new] =
            shapes_.try_emplace({prefix, width, drops}, index(factors_.size()) / 2);
        if (is_new) {
            const index lanes = isa_.vector_bytes / index(sizeof(T));
            for (index c = drops; c < prefix * width; ++c) {
                factors_.push_back(c / width * lanes);
                factors_.push_back(c % width * lanes);
            }
        }
        return found->second;
    }

    const Isa& isa_;
    index features_, columns_ = 0;
    std::vector<index> entry_axis_, entry_ptr_, feature_ptr_, group_ptr_, group_entries_;
    std::vector<T> nodes_, amplitudes_, middle_, scale_;
    std::vector<index> factors_, group_factors_, group_columns_;
    std::map<std::tuple<index, index, bool>, index> shapes_;
    KroneckerWork<T> work_{};
};

}  // namespace
}  // namespace quadfeat

#include "mercer_plan.hpp"

namespace quadfeat {
namespace {

// ---- the rest -----------------------------------------------------------------------------------

template <class T>
void sincos_half_turns(const std::string& isa, const Vector<T>& t,
                       const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& cosine,
                       const nb::ndarray<T, nb::ndim<1>, nb::c_contig>& sine) {
    require(cosine.size() == t.size() && sine.size() == t.size(),
            "cosine and sine must be as long as t");
    kernels_of<T>(find_isa(isa)).sincos(t.data(), cosine.data(), sine.data(), index(t.size()));
}

template <class T>
void write(const std::string& isa, const Target<T>& out, T value, index threads) {
    const index rows = index(out.shape(0)), columns = index(out.shape(1));
    const Output<T> to = output_of(out, rows, columns, -1);
    const Kernels<T>& kernels = kernels_of<T>(find_isa(isa));
    nb::gil_scoped_release release;
    share_rows(rows, columns, kRows<T>, threads, 0, [&](index begin, index end, void*) {
        for (index r = begin; r < end; ++r)
            kernels.write(to.data + r * to.row_stride, columns, value);
        return Status::ok;
    });
}

template <class T>
void bind(nb::module_& m, const char* fourier, const char* kronecker) {
    nb::class_<Fourier<T>>(m, fourier)
        .def(nb::init<const std::string&, index, const Vector<index>&, const Vector<index>&,
                      const Vector<index>&, const Vector<double>&, const Vector<index>&,
                      const Vector<double>&, double>(),
             nb::arg("isa"), nb::arg("n_features"), nb::arg("axes"), nb::arg("axes_ptr"),
             nb::arg("group_nodes"), nb::arg("nodes"), nb::arg("node_ptr"), nb::arg("amplitudes"),
             nb::arg("constant"))
        .def_prop_ro("columns", &Fourier<T>::columns)
        .def("run", &Fourier<T>::run, nb::arg("X").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads"), nb::arg("way") = -1);
    nb::class_<Kronecker<T>>(m, kronecker)
        .def(nb::init<const std::string&, index, const Vector<index>&, const Vector<index>&,
                      const Vector<double>&, const Vector<double>&, const Vector<double>&,
                      const Vector<index>&, const Vector<index>&, const Vector<double>&>(),
             nb::arg("isa"), nb::arg("n_features"), nb::arg("entry_axis"), nb::arg("entry_ptr"),
             nb::arg("entry_nodes"), nb::arg("entry_amplitudes"), nb::arg("entry_middle"),
             nb::arg("group_ptr"), nb::arg("group_entries"), nb::arg("group_scale"))
        .def_prop_ro("columns", &Kronecker<T>::columns)
        .def("run", &Kronecker<T>::run, nb::arg("X").noconvert(), nb::arg("out").noconvert(),
             nb::arg("threads"), nb::arg("way") = -1);
    m.def("sincos_halfturns", &sincos_half_turns<T>, nb::arg("isa"), nb::arg("t").noconvert(),
          nb::arg("cosine").noconvert(), nb::arg("sine").noconvert());
    m.def("write", &write<T>, nb::arg("isa"), nb::arg("out").noconvert(), nb::arg("value"),
          nb::arg("threads"));
}

}  // namespace
}  // namespace quadfeat

NB_MODULE(_core, m) {
    m.doc() = "The compiled engine; quadfeat._engine is its only caller.";
    m.def("isas", [] {
        std::vector<std::string> names;
        for (const quadfeat::Isa* isa : quadfeat::supported()) names.push_back(isa->name);
        return names;
    });
#if defined(__clang__)
    m.attr("compiler") = "clang " __clang_version__;
#else
    m.attr("compiler") = "g++ " __VERSION__;
#endif
    quadfeat::bind<float>(m, "Fourier32", "Kronecker32");
    quadfeat::bind<double>(m, "Fourier64", "Kronecker64");
    quadfeat::bind_mercer<float>(m, "Mercer32");
    quadfeat::bind_mercer<double>(m, "Mercer64");
}
