// The interface between the module (bindings.cpp) and the instruction-set units (units/*.cpp): packed
// plans ("work") and the table of routines that evaluate them.
//
// Plain data only. The units are compiled with different flags, and the linker could replace an inline
// function that two of them share by its AVX-512 version. So each unit has its own namespace and
// uses nothing from the standard library.
#pragma once

#include <cstdint>

namespace quadfeat {

using index = std::int64_t;

constexpr index kLine = 64;       // bytes of a cache line
constexpr index kBlockRows = 16;  // rows that share one pass over the nodes, at most

// A strided matrix of inputs; strides count elements and may be zero or negative.
template <class T>
struct Input {
    const T* data;
    index rows, columns, row_stride, column_stride;
};

// How features reach memory.
enum class Way : int {
    cached = 0,   // written in place; for small outputs, which stay in the cache
    fetched = 1,  // written in place, lines are prefetched
    around = 2,   // buffered, then written around the cache by non-temporal stores
};

// The matrix of features; a row is contiguous.
template <class T>
struct Output {
    T* data;
    index rows, columns, row_stride;
    Way way;
};

// One set of nodes, in half-turns, cut into vectors of `lanes` nodes. The last vector may overlap the
// one before it (it then ends at the last node), so that every store is a whole vector. If that
// costs more than it saves, the last few nodes are `loose`: evaluated one by one with rows in
// lanes.
template <class T>
struct NodeSet {
    index count;      // nodes
    index axes;       // length of a node
    index vectors;    // vectors of nodes
    index loose;      // nodes after the last vector
    const T* panels;  // (vectors, axes, lanes)
    const T* panel_amplitudes;   // (vectors, lanes)
    const T* singles;            // (loose, axes)
    const T* single_amplitudes;  // (loose,)
};

template <class T>
struct FourierWork {
    index groups;
    const index* axes_ptr;     // (groups + 1,)
    const index* axes;         // (axes_ptr[groups],)
    const index* group_nodes;  // (groups,) index of the node set
    const NodeSet<T>* sets;
    bool any_loose;
    double largest_node;  // the largest sum of |coordinates| of a node, in half-turns
    bool has_constant;    // one last column holds a constant
    T constant;
};

template <class T>
struct KroneckerWork {
    index entries, features;           // 1-D features of all entries together
    const index* entry_axis;           // (entries,)
    const index* entry_ptr;            // (entries + 1,) into nodes and amplitudes
    const index* feature_ptr;          // (entries + 1,) into the table of features
    const T* nodes;                    // half-turns
    const T* amplitudes;
    const T* middle;                   // (entries,)
    double largest_node;
    index groups;
    const index* group_ptr;            // (groups + 1,)
    const index* group_entries;        // (group_ptr[groups],)
    const T* group_scale;              // (groups,)
    // Column c of group g is a column of the product of all entries but the last, times a feature of
    // the last: elements factors[2 * i] and factors[2 * i + 1] of the two tables (rows in lanes) with
    // i = group_factors[g] + c. Groups of one shape share their factors.
    const index* factors;
    const index* group_factors;        // (groups,)
    const index* group_columns;        // (groups,)
    index largest_prefix;              // columns of all entries of a group but the last
    bool has_constant;
    T constant;
};

constexpr index kMercerRows = 32;  // rows that share one pass over a rotation, at most
constexpr index kMercerTile = 6;   // directions of a tile of the rotation, at most
// Axes of a tile of the rotation, at most: those of the rows stay in the first-level cache.
template <class T>
constexpr index kMercerDepth = 16 * 1024 / index(sizeof(T)) / kMercerRows;

// The eigenfunctions of one Gaussian kernel; see Expansion in plans.py.
template <class T>
struct MercerGroup {
    index axes, directions;
    const index* axis;            // (axes,)
    const T *scale, *mean;        // (axes,)
    const T* rotation;            // tiles (axes, directions), those of the first axes first;
    const index* only;            // or (directions,), each the multiple of this axis alone;
    index reflections;            // or, if there are any, tiles (axes, reflections), of which
    const T *mixing, *straight;   // tiles (reflections, directions) are added to (axes,) multiples
    const T *envelope, *length;   // (directions,)
    const T* limit;               // (directions,) |t| beyond which every column is zero
    const index* sizes;           // (directions,)
    const T *rise, *fall;         // sizes - 1 of every direction
    T amplitude;
    bool has_rest;                // there are fewer directions than axes
    index table, base;            // elements before its first table, and before its base
    index t;                      // directions of earlier groups of its chunk
};

// Groups whose tables fit into the cache together. Entries are vectors with rows in lanes: tables and
// bases, then the parents, which are the columns that are a factor of others. Column c is the product
// of the entries at elements factors[2 * c] and factors[2 * c + 1]. The last vector of columns may
// overlap the one before it; with fewer columns than lanes there are no vectors.
struct MercerChunk {
    index first, last;  // groups
    index column, columns, vectors;
    const std::int32_t* factors;
    index parent, parents;  // elements before the first parent, and the number of parents
    const std::int32_t* parent_factors;
};

template <class T>
struct MercerWork {
    const MercerGroup<T>* groups;
    index chunks;
    const MercerChunk* chunk;
    index most_axes, most_reflections;                 // of a group
    index most_groups, most_directions, most_entries;  // of a chunk
};

// How a kernel is computed from the differences of a row and a point in length scales: exp(-sum) of
// their squares or absolute values; or, for Matern kernels of smoothness 1/2, 3/2 and 5/2, a
// polynomial in the distance or of every axis times an exponential.
enum class PairForm : int {
    gaussian = 0,
    laplacian = 1,
    matern1 = 2,
    matern3 = 3,
    matern5 = 4,
    product3 = 5,
    product5 = 6,
};
constexpr index kPairForms = 7;
constexpr index kPairVectors = 4;  // vectors of points of a tile

template <class T>
struct PairWork {
    index axes, points;
    PairForm form;
    const T* scale;   // (axes,)
    const T* panels;  // (tiles, axes, kPairVectors * lanes), in length scales; zero after the points
};

enum class Status : int { ok = 0, overflow = 1, interrupted = 2 };

// The routines of one instruction set. `*_scratch` is the memory that a thread needs, in bytes, aligned
// to a cache line. `fourier`, `kronecker` and `pairs` evaluate rows [begin, end), at most kBlockRows of
// them; `mercer`, at most kMercerRows.
template <class T>
struct Routines {
    index (*fourier_scratch)(const FourierWork<T>&, const Input<T>&);
    Status (*fourier)(const FourierWork<T>&, const Input<T>&, const Output<T>&, index begin,
                      index end, void* scratch);
    index (*kronecker_scratch)(const KroneckerWork<T>&, const Input<T>&);
    Status (*kronecker)(const KroneckerWork<T>&, const Input<T>&, const Output<T>&, index begin,
                        index end, void* scratch);
    index (*mercer_scratch)(const MercerWork<T>&, const Input<T>&);
    Status (*mercer)(const MercerWork<T>&, const Input<T>&, const Output<T>&, index begin, index end,
                     void* scratch);
    index (*pairs_scratch)(const PairWork<T>&, const Input<T>&);
    Status (*pairs)(const PairWork<T>&, const Input<T>&, const Output<T>&, index begin, index end,
                    void* scratch);
    void (*exp)(const T* x, T* to, index count);
    void (*sincos)(const T* half_turns, T* cosine, T* sine, index count);
    void (*write)(T* to, index count, T value);  // around the cache: the peak write speed
};

struct Isa {
    const char* name;
    index vector_bytes;
    Routines<float> f32;
    Routines<double> f64;
};

extern const Isa isa_baseline;
extern const Isa isa_avx2;
extern const Isa isa_avx512;

}  // namespace quadfeat
