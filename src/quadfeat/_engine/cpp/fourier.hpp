// Fourier features for one instruction set: nodes in lanes, tiles of up to 4 rows x 3 vectors of nodes.
#pragma once

#include "block.hpp"
#include "writer.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// A tile of Rows x Vectors vectors: angles in registers, then their cosines and sines. The last vector
// is stored `tail` columns after the first.
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
                                  index tail, Writer<T>& real, Writer<T>& imaginary) {
    const index stride = real.stride();
    const T* x = block.x;
    index r = 0;
    for (; r + 4 <= rows; r += 4) {
        fourier_tile<T, Wide, 4, Vectors>(block.table, x, block.stride, axes, count, panels,
                                          amplitudes, cosine, sine, stride, tail);
        real.move((4 * Vectors * kBytes + kLine - 1) / kLine);  // as many lines as the tile wrote
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
                     index first, index last, T* cosine, T* sine, Writer<T>& real,
                     Writer<T>& imaginary) {
    constexpr index full = lanes<T>;
    const index packed = set.count - set.loose;
    // The overlap of the last vector with the one before it.
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

// The loose nodes of a set: rows in lanes, results scattered over the rows. Two vectors of rows
// with four partial sums each keep eight sums in flight, to hide the latency of multiply-add.
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
        copy = kBuffers<T>;
        lanes_copy = copy + (in.column_stride != 1 ? block : 0);
        total = lanes_copy + (work.any_loose ? block : 0);
    }
};

template <class T, bool Wide>
void fourier_block(const FourierWork<T>& work, const Block<T>& block, index rows, const T* x_lanes,
                   const Output<T>& out, index begin, T* memory) {
    Writer<T> writer(out, begin, rows, memory, kBuffers<T>);
    writer.begin(0);
    index column = 0;
    for (index g = 0; g < work.groups; ++g) {
        const NodeSet<T>& set = work.sets[work.group_nodes[g]];
        const index* axes = work.axes + work.axes_ptr[g];
        if (2 * set.count <= writer.capacity()) {
            T* cosine = writer.take(2 * set.count);
            T* sine = cosine + set.count;
            fourier_vectors<T, Wide>(block, rows, axes, set, 0, set.vectors, cosine, sine, writer,
                                     writer);
            if (set.loose)
                fourier_loose<T, Wide>(block, x_lanes, rows, axes, set, cosine, sine,
                                       writer.stride());
        } else {
            // Cosines and sines are far apart: one writer each, a run of whole lines at a time.
            writer.finish();
            Writer<T> real(out, begin, rows, memory, kBuffers<T> / 2);
            Writer<T> imaginary(out, begin, rows, memory + kBuffers<T> / 2, kBuffers<T> / 2);
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
            writer.begin(column + 2 * set.count);
        }
        column += 2 * set.count;
    }
    if (work.has_constant) {
        T* last = writer.take(1);
        for (index r = 0; r < rows; ++r) last[r * writer.stride()] = work.constant;
    }
    writer.finish();
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

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
