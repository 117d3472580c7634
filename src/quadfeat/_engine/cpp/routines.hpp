// The shapes of work, for one instruction set. Included by a kernels_*.cpp only (see engine.hpp).
#pragma once

#include "mercer.hpp"
#include "sincos.hpp"
#include "writer.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// Memory of a stage, both its buffers: about a first-level cache.
template <class T>
constexpr index kStage = 32 * 1024 / sizeof(T);

// ---- inputs -------------------------------------------------------------------------------------

// The largest |x| of a block of rows, or a NaN if there is one among them.
template <class T>
T largest(const T* x, index stride, index rows, index columns) {
    const bits<T> magnitude = ~(bits<T>)fill<T>(T(-0.0));
    vec<T> top = {}, sum = {};  // x - x is zero unless x is not finite
    T most = 0, odd = 0;
    for (index r = 0; r < rows; ++r) {
        const T* row = x + r * stride;
        index i = 0;
        for (; i + lanes<T> <= columns; i += lanes<T>) {
            const vec<T> v = load(row + i);
            const vec<T> size = (vec<T>)((bits<T>)v & magnitude);
            top = size > top ? size : top;
            sum += v - v;
        }
        for (; i < columns; ++i) {
            const T size = row[i] < 0 ? -row[i] : row[i];
            most = size > most ? size : most;
            odd += size - size;
        }
    }
    for (index i = 0; i < lanes<T>; ++i) {
        most = top[i] > most ? top[i] : most;
        odd += sum[i];
    }
    return most + odd;
}

// A block of rows with unit stride, and whether its angles need the wide range reduction.
template <class T>
struct Block {
    const T* x;
    index stride;
    Status status;
    bool wide;
    Coefficients<T> table;
};

template <class T>
void read_block(Block<T>& block, const Input<T>& in, index begin, index rows, double largest_node,
                T* copy) {
    block.x = in.data + begin * in.row_stride;
    block.stride = in.row_stride;
    if (in.column_stride != 1) {
        for (index r = 0; r < rows; ++r)
            for (index i = 0; i < in.columns; ++i)
                copy[r * in.columns + i] = block.x[r * in.row_stride + i * in.column_stride];
        block.x = copy;
        block.stride = in.columns;
    }
    const double bound = double(largest(block.x, block.stride, rows, in.columns)) * largest_node;
    const double huge = sizeof(T) == 4 ? 0x1p127 : 0x1p1000;
    block.status = bound < huge ? Status::ok : Status::overflow;  // a NaN is an overflow
    block.wide = !(bound < double(Trig<T>::limit) / 2);
    fill_coefficients(block.table);
}

// Rows into lanes: (columns, stride) with rows along the lanes, zero beyond the last row.
template <class T>
void rows_to_lanes(const Block<T>& block, index rows, index columns, T* to, index stride) {
    for (index i = 0; i < columns; ++i)
        for (index r = 0; r < stride; ++r)
            to[i * stride + r] = r < rows ? block.x[r * block.stride + i] : T(0);
}

// ---- Fourier features ---------------------------------------------------------------------------

// Rows x Vectors vectors of angles in registers, then their cosines and sines; the last vector goes
// `tail` columns after the first.
template <class T, bool Wide, int Rows, int Vectors>
QUADFEAT_INLINE void fourier_tile(const Coefficients<T>& table, const T* x,
                                  index x_stride, const index* axes, index count,
                                  const T* panels, const T* amplitudes, T* cosine, T* sine,
                                  index stride, index tail) {
    vec<T> angle[Rows][Vectors];
    const index panel = count * lanes<T>;
    for (int r = 0; r < Rows; ++r)
        for (int c = 0; c < Vectors; ++c)
            angle[r][c] = fill<T>(x[axes[0] + r * x_stride]) * load(panels + c * panel);
    for (index k = 1; k < count; ++k) {
        vec<T> node[Vectors];
        for (int c = 0; c < Vectors; ++c) node[c] = load(panels + c * panel + k * lanes<T>);
        const T* column = x + axes[k];
        for (int r = 0; r < Rows; ++r) {
            const vec<T> value = fill<T>(column[r * x_stride]);
            for (int c = 0; c < Vectors; ++c) angle[r][c] = fma(value, node[c], angle[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
        vec<T> amplitude[Vectors], real[Vectors], imaginary[Vectors];
        for (int c = 0; c < Vectors; ++c) amplitude[c] = load(amplitudes + c * lanes<T>);
        sincos<T, Wide, Vectors>(table, angle[r], amplitude, real, imaginary);
        for (int c = 0; c < Vectors; ++c) {
            const index at = r * stride + (c + 1 < Vectors ? c * lanes<T> : tail);
            store(cosine + at, real[c]);
            store(sine + at, imaginary[c]);
        }
    }
}

template <class T, bool Wide, int Vectors>
QUADFEAT_INLINE void fourier_rows(const Block<T>& block, index rows, const index* axes, index count,
                                  const T* panels, const T* amplitudes, T* cosine, T* sine,
                                  index tail, Stage<T>& real, Stage<T>& imaginary) {
    const index stride = real.stride();
    const T* x = block.x;
    index r = 0;
    for (; r + 4 <= rows; r += 4) {
        fourier_tile<T, Wide, 4, Vectors>(block.table, x, block.stride, axes, count, panels,
                                          amplitudes, cosine, sine, stride, tail);
        real.move((4 * Vectors * kBytes + kLine - 1) / kLine);  // as many lines as the tile made
        imaginary.move((4 * Vectors * kBytes + kLine - 1) / kLine);
        x += 4 * block.stride;
        cosine += 4 * stride;
        sine += 4 * stride;
    }
    for (; r < rows; ++r) {
        fourier_tile<T, Wide, 1, Vectors>(block.table, x, block.stride, axes, count, panels,
                                          amplitudes, cosine, sine, stride, tail);
        x += block.stride;
        cosine += stride;
        sine += stride;
    }
}

// Vectors [first, last) of a node set; `cosine` and `sine` point to the columns of vector `first`.
template <class T, bool Wide>
void fourier_vectors(const Block<T>& block, index rows, const index* axes, const NodeSet<T>& set,
                     index first, index last, T* cosine, T* sine, Stage<T>& real,
                     Stage<T>& imaginary) {
    constexpr index full = lanes<T>;
    const index packed = set.count - set.loose;
    // How far the last vector reaches back into the one before it.
    const index overlap = last == set.vectors ? set.vectors * full - packed : 0;
    const T* panels = set.panels + first * set.axes * full;
    const T* amplitudes = set.panel_amplitudes + first * full;
    index left = last - first;
    const auto advance = [&](index vectors) {
        panels += vectors * set.axes * full;
        amplitudes += vectors * full;
        cosine += vectors * full;
        sine += vectors * full;
        left -= vectors;
    };
    for (; left == 3 || left > 4; advance(3))
        fourier_rows<T, Wide, 3>(block, rows, axes, set.axes, panels, amplitudes, cosine, sine,
                                 2 * full - (left == 3 ? overlap : 0), real, imaginary);
    for (; left >= 2; advance(2))
        fourier_rows<T, Wide, 2>(block, rows, axes, set.axes, panels, amplitudes, cosine, sine,
                                 full - (left == 2 ? overlap : 0), real, imaginary);
    if (left == 1)
        fourier_rows<T, Wide, 1>(block, rows, axes, set.axes, panels, amplitudes, cosine, sine,
                                 -overlap, real, imaginary);
}

// The loose nodes of a set: rows in lanes, results scattered over the rows. Two vectors of rows and
// four partial sums each keep eight sums in flight: one alone would wait for its own latency.
template <class T, bool Wide>
void fourier_loose(const Block<T>& block, const T* x_lanes, index rows, const index* axes,
                   const NodeSet<T>& set, T* cosine, T* sine, index stride) {
    constexpr int N = kBlockRows >= 2 * lanes<T> ? 2 : 1;
    constexpr int parts = 4;
    for (index j = 0; j < set.loose; ++j) {
        const T* node = set.singles + j * set.axes;
        const vec<T> one = fill<T>(set.single_amplitudes[j]);
        const index column = set.count - set.loose + j;
        for (index r = 0; r < rows; r += N * lanes<T>) {
            vec<T> sum[parts][N] = {}, amplitude[N], c[N], s[N];
            const auto add = [&](index k, int part) {
                const vec<T> value = fill<T>(node[k]);
                const T* x = x_lanes + axes[k] * kBlockRows + r;
                for (int i = 0; i < N; ++i)
                    sum[part][i] = fma(load(x + i * lanes<T>), value, sum[part][i]);
            };
            index k = 0;
            for (; k + parts <= set.axes; k += parts)
                for (int part = 0; part < parts; ++part) add(k + part, part);
            for (; k < set.axes; ++k) add(k, 0);
            for (int i = 0; i < N; ++i) {
                sum[0][i] = (sum[0][i] + sum[1][i]) + (sum[2][i] + sum[3][i]);
                amplitude[i] = one;
            }
            sincos<T, Wide, N>(block.table, sum[0], amplitude, c, s);
            T real[N * lanes<T>], imaginary[N * lanes<T>];
            for (int i = 0; i < N; ++i) {
                store(real + i * lanes<T>, c[i]);
                store(imaginary + i * lanes<T>, s[i]);
            }
            T* to_cosine = cosine + r * stride + column;
            T* to_sine = sine + r * stride + column;
            const index some = rows - r < N * lanes<T> ? rows - r : N * lanes<T>;
            for (index i = 0; i < some; ++i) {
                to_cosine[i * stride] = real[i];
                to_sine[i * stride] = imaginary[i];
            }
        }
    }
}

template <class T>
struct FourierScratch {
    index copy, lanes_copy, total;  // elements
    FourierScratch(const FourierWork<T>& work, const Input<T>& in) {
        const index block = (kBlockRows * in.columns + 63) / 64 * 64;
        copy = kStage<T>;
        lanes_copy = copy + (in.column_stride != 1 ? block : 0);
        total = lanes_copy + (work.any_loose ? block : 0);
    }
};

template <class T, bool Wide>
void fourier_block(const FourierWork<T>& work, const Block<T>& block, index rows, const T* x_lanes,
                   const Output<T>& out, index begin, T* memory) {
    Stage<T> stage(out, begin, rows, memory, kStage<T>);
    stage.begin(0);
    index column = 0;
    for (index g = 0; g < work.groups; ++g) {
        const NodeSet<T>& set = work.sets[work.group_nodes[g]];
        const index* axes = work.axes + work.axes_ptr[g];
        if (2 * set.count <= stage.capacity()) {
            T* cosine = stage.take(2 * set.count);
            T* sine = cosine + set.count;
            fourier_vectors<T, Wide>(block, rows, axes, set, 0, set.vectors, cosine, sine, stage,
                                     stage);
            if (set.loose)
                fourier_loose<T, Wide>(block, x_lanes, rows, axes, set, cosine, sine,
                                       stage.stride());
        } else {
            // Cosines and sines are far apart: a stage for each, a run of whole lines at a time.
            stage.finish();
            Stage<T> real(out, begin, rows, memory, kStage<T> / 2);
            Stage<T> imaginary(out, begin, rows, memory + kStage<T> / 2, kStage<T> / 2);
            real.begin(column);
            imaginary.begin(column + set.count);
            const index step = real.capacity() / lanes<T> / 3 * 3;  // vectors
            for (index v = 0; v < set.vectors;) {
                index last = v + step < set.vectors ? v + step : set.vectors;
                // The last vector may reach back into the one before: keep the two together.
                if (last == set.vectors - 1) --last;
                const index end = last < set.vectors ? last * lanes<T> : set.count - set.loose;
                T* cosine = real.take(end - v * lanes<T>);
                T* sine = imaginary.take(end - v * lanes<T>);
                fourier_vectors<T, Wide>(block, rows, axes, set, v, last, cosine, sine,
                                         real, imaginary);
                v = last;
            }
            if (set.loose) {
                T* cosine = real.take(set.loose) - (set.count - set.loose);
                T* sine = imaginary.take(set.loose) - (set.count - set.loose);
                fourier_loose<T, Wide>(block, x_lanes, rows, axes, set, cosine, sine,
                                       real.stride());
            }
            real.finish();
            imaginary.finish();
            stage.begin(column + 2 * set.count);
        }
        column += 2 * set.count;
    }
    if (work.has_constant) {
        T* last = stage.take(1);
        for (index r = 0; r < rows; ++r) last[r * stage.stride()] = work.constant;
    }
    stage.finish();
}

template <class T>
index fourier_scratch(const FourierWork<T>& work, const Input<T>& in) {
    return FourierScratch<T>(work, in).total * index(sizeof(T));
}

template <class T>
Status fourier(const FourierWork<T>& work, const Input<T>& in, const Output<T>& out, index begin,
               index end, void* memory) {
    const FourierScratch<T> plan(work, in);
    T* scratch = static_cast<T*>(memory);
    const index rows = end - begin;
    Block<T> block;
    read_block(block, in, begin, rows, work.largest_node, scratch + plan.copy);
    if (block.status != Status::ok) return block.status;
    T* x_lanes = scratch + plan.lanes_copy;
    if (work.any_loose) rows_to_lanes(block, rows, in.columns, x_lanes, kBlockRows);
    if (block.wide)
        fourier_block<T, true>(work, block, rows, x_lanes, out, begin, scratch);
    else
        fourier_block<T, false>(work, block, rows, x_lanes, out, begin, scratch);
    stream_fence();
    return Status::ok;
}

// ---- full grids: Kronecker products of 1-D features ---------------------------------------------

template <class T>
struct KroneckerScratch {
    index x_lanes, table, prefix, copy, total;  // elements
    KroneckerScratch(const KroneckerWork<T>& work, const Input<T>& in) {
        x_lanes = kStage<T>;
        table = x_lanes + in.columns * lanes<T>;
        prefix = table + work.features * lanes<T>;
        copy = prefix + 2 * work.largest_prefix * lanes<T>;
        total = copy + (in.column_stride != 1 ? kBlockRows * in.columns : 0);
    }
};

// The 1-D features of all entries for one vector of rows.
template <class T, bool Wide>
void kronecker_table(const KroneckerWork<T>& work, const Coefficients<T>& coefficients,
                     const T* x_lanes, T* table) {
    for (index t = 0; t < work.entries; ++t) {
        const vec<T> x = load(x_lanes + work.entry_axis[t] * lanes<T>);
        const index first = work.entry_ptr[t], count = work.entry_ptr[t + 1] - first;
        T* cosine = table + work.feature_ptr[t] * lanes<T>;
        if (work.middle[t] != 0) {
            store(cosine, fill<T>(work.middle[t]));
            cosine += lanes<T>;
        }
        for (index j = 0; j < count; ++j) {
            vec<T> c, s;
            const vec<T> angle = x * fill<T>(work.nodes[first + j]);
            const vec<T> amplitude = fill<T>(work.amplitudes[first + j]);
            sincos<T, Wide, 1>(coefficients, &angle, &amplitude, &c, &s);
            store(cosine + j * lanes<T>, c);
            store(cosine + (count + j) * lanes<T>, s);
        }
    }
}

// Columns of products with rows in lanes, turned into rows of the output.
template <class T>
void multiply_columns(const T* left, const T* right, const index* factors, index columns,
                      index rows, T* to, Stage<T>& stage) {
    const index stride = stage.stride();
    index c = 0;
    for (; c + lanes<T> <= columns; c += lanes<T>) {
        vec<T> v[lanes<T>];
        for (index i = 0; i < lanes<T>; ++i, factors += 2)
            v[i] = load(left + factors[0]) * load(right + factors[1]);
        transpose<T>(v);
        if (rows == lanes<T>) {
            for (index i = 0; i < lanes<T>; ++i) store(to + i * stride + c, v[i]);
        } else {
            for (index i = 0; i < rows; ++i) store(to + i * stride + c, v[i]);
        }
        stage.fetch(lanes<T> * lanes<T> / Stage<T>::line + 1);  // a little more than was made
    }
    for (; c < columns; ++c, factors += 2) {
        const vec<T> v = load(left + factors[0]) * load(right + factors[1]);
        for (index i = 0; i < rows; ++i) to[i * stride + c] = v[i];
    }
}

template <class T>
void kronecker_rows(const KroneckerWork<T>& work, const T* table, index rows, Stage<T>& stage,
                    T* prefix) {
    stage.begin(0);
    const index run = stage.capacity() / lanes<T> * lanes<T>;
    for (index g = 0; g < work.groups; ++g) {
        const index* entries = work.group_entries + work.group_ptr[g];
        const index count = work.group_ptr[g + 1] - work.group_ptr[g];
        // All entries but the last, in the order of the columns.
        T* head = prefix;
        T* other = prefix + work.largest_prefix * lanes<T>;
        index size = 1;
        store(head, fill<T>(work.group_scale[g]));
        for (index e = 0; e + 1 < count; ++e) {
            const T* features = table + work.feature_ptr[entries[e]] * lanes<T>;
            const index width = work.feature_ptr[entries[e] + 1] - work.feature_ptr[entries[e]];
            for (index i = 0; i < size; ++i) {
                const vec<T> left = load(head + i * lanes<T>);
                for (index j = 0; j < width; ++j)
                    store(other + (i * width + j) * lanes<T>, left * load(features + j * lanes<T>));
            }
            T* swap = head;
            head = other;
            other = swap;
            size *= width;
        }
        const index entry = entries[count - 1];
        const T* features = table + work.feature_ptr[entry] * lanes<T>;
        const index* factors = work.factors + 2 * work.group_factors[g];
        for (index left = work.group_columns[g]; left > 0;) {
            const index columns = left < run ? left : run;
            T* to = stage.take(columns);
            multiply_columns(head, features, factors, columns, rows, to, stage);
            stage.move(2 * columns * rows / Stage<T>::line);  // what is left of it
            factors += 2 * columns;
            left -= columns;
        }
    }
    if (work.has_constant) {
        T* last = stage.take(1);
        for (index r = 0; r < rows; ++r) last[r * stage.stride()] = work.constant;
    }
    stage.finish();
}

template <class T>
index kronecker_scratch(const KroneckerWork<T>& work, const Input<T>& in) {
    return KroneckerScratch<T>(work, in).total * index(sizeof(T));
}

template <class T>
Status kronecker(const KroneckerWork<T>& work, const Input<T>& in, const Output<T>& out,
                 index begin, index end, void* memory) {
    const KroneckerScratch<T> plan(work, in);
    T* scratch = static_cast<T*>(memory);
    Block<T> block;
    read_block(block, in, begin, end - begin, work.largest_node, scratch + plan.copy);
    if (block.status != Status::ok) return block.status;
    for (index r = begin; r < end; r += lanes<T>) {
        const index rows = end - r < lanes<T> ? end - r : lanes<T>;
        rows_to_lanes(block, rows, in.columns, scratch + plan.x_lanes, lanes<T>);
        if (block.wide)
            kronecker_table<T, true>(work, block.table, scratch + plan.x_lanes,
                                     scratch + plan.table);
        else
            kronecker_table<T, false>(work, block.table, scratch + plan.x_lanes,
                                      scratch + plan.table);
        Stage<T> stage(out, r, rows, scratch, kStage<T>);
        kronecker_rows(work, scratch + plan.table, rows, stage, scratch + plan.prefix);
        block.x += lanes<T> * block.stride;
    }
    stream_fence();
    return Status::ok;
}

// ---- the polynomial and the way to memory alone, for tests and benchmarks -----------------------

template <class T>
void sincos_array(const T* half_turns, T* cosine, T* sine, index count) {
    const vec<T> one = fill<T>(T(1));
    Coefficients<T> table;
    fill_coefficients(table);
    for (index i = 0; i < count; i += lanes<T>) {
        const index left = count - i < lanes<T> ? count - i : lanes<T>;
        T t[lanes<T>] = {}, c[lanes<T>], s[lanes<T>];
        for (index k = 0; k < left; ++k) t[k] = half_turns[i + k];
        vec<T> real, imaginary;
        const vec<T> angle = load(t);
        sincos<T, true, 1>(table, &angle, &one, &real, &imaginary);
        store(c, real);
        store(s, imaginary);
        for (index k = 0; k < left; ++k) cosine[i + k] = c[k], sine[i + k] = s[k];
    }
}

template <class T>
void write(T* to, index count, T value) {
    const vec<T> v = fill<T>(value);
    index i = 0;
    for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % kLine != 0; ++i) to[i] = value;
    for (; i + lanes<T> <= count; i += lanes<T>) stream(to + i, v);
    for (; i < count; ++i) to[i] = value;
    stream_fence();
}

template <class T>
constexpr Kernels<T> kernels() {
    return {fourier_scratch<T>, fourier<T>, kronecker_scratch<T>, kronecker<T>, mercer_scratch<T>,
            mercer<T>,          exp_array<T>, sincos_array<T>,      write<T>};
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
