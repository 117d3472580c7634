// Hermite-Mercer features for one instruction set: rows in lanes throughout, transposed to rows of the
// output in registers.
//
// A lane runs the same operations in the same order whatever is in the other lanes, so the result
// of a row does not depend on its block or its neighbours.
#pragma once

#include "exp.hpp"
#include "writer.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// Elements of the buffers of a Writer; fewer than kBuffers, because tables share the first-level cache.
template <class T>
constexpr index kMercerBuffers = 16 * 1024 / sizeof(T);

template <class T>
struct MercerScratch {
    index x, centred, reflected, distance, t, tables, total;  // elements
    MercerScratch(const MercerWork<T>& work, const Input<T>& in) {
        x = kMercerBuffers<T>;
        centred = x + in.columns * kMercerRows;
        reflected = centred + work.most_axes * kMercerRows;
        distance = reflected + work.most_reflections * kMercerRows;
        t = distance + work.most_groups * kMercerRows;
        tables = t + work.most_directions * kMercerRows;
        total = tables + work.most_entries * lanes<T>;
    }
};

// Copies rows into lanes: (columns, kMercerRows), the last row repeated to fill a vector. Returns false
// if a value is not finite.
template <class T>
bool mercer_read(const Input<T>& in, index begin, index rows, index vectors, T* to) {
    vec<T> odd = {};  // x - x is zero unless x is not finite
    for (index r = 0; r < vectors * lanes<T>; r += lanes<T>) {
        const T* row[lanes<T>];
        for (index i = 0; i < lanes<T>; ++i)
            row[i] = in.data + (begin + (r + i < rows ? r + i : rows - 1)) * in.row_stride;
        index c = 0;
        if (in.column_stride == 1)
            for (; c + lanes<T> <= in.columns; c += lanes<T>) {
                vec<T> v[lanes<T>];
                for (index i = 0; i < lanes<T>; ++i) v[i] = load(row[i] + c);
                transpose<T>(v);
                for (index i = 0; i < lanes<T>; ++i) {
                    store(to + (c + i) * kMercerRows + r, v[i]);
                    odd += v[i] - v[i];
                }
            }
        for (; c < in.columns; ++c) {
            T* lane = to + c * kMercerRows + r;
            for (index i = 0; i < lanes<T>; ++i) lane[i] = row[i][c * in.column_stride];
            odd += load(lane) - load(lane);
        }
    }
    T sum = 0;
    for (index i = 0; i < lanes<T>; ++i) sum += odd[i];
    return sum == 0;
}

// x - mean on the axes of a group, and its squared length in the metric of the kernel.
template <class T>
void mercer_centre(const MercerGroup<T>& group, const T* x, index vectors, T* centred,
                   T* distance) {
    for (index r = 0; r < vectors * lanes<T>; r += lanes<T>) {
        vec<T> sum = {};
        for (index k = 0; k < group.axes; ++k) {
            const vec<T> v = load(x + group.axis[k] * kMercerRows + r) - group.mean[k];
            const vec<T> scaled = v * group.scale[k];
            sum = fma(scaled, scaled, sum);
            store(centred + k * kMercerRows + r, v);
        }
        store(distance + r, sum);
    }
}

// Vectors of rows x Directions of the product with the rotation, in registers; added to t, or
// written to it if `first`.
template <class T, int Vectors, int Directions>
QUADFEAT_INLINE void rotate_tile(const T* centred, index axes, const T* rotation, bool first,
                                 T* t) {
    vec<T> sum[Directions][Vectors];
    for (int i = 0; i < Directions; ++i)
        for (int v = 0; v < Vectors; ++v)
            sum[i][v] = first ? vec<T>{} : load(t + i * kMercerRows + v * lanes<T>);
    for (index k = 0; k < axes; ++k, rotation += Directions, centred += kMercerRows) {
        vec<T> x[Vectors];
        for (int v = 0; v < Vectors; ++v) x[v] = load(centred + v * lanes<T>);
        for (int i = 0; i < Directions; ++i) {
            const vec<T> weight = fill<T>(rotation[i]);
            for (int v = 0; v < Vectors; ++v) sum[i][v] = fma(x[v], weight, sum[i][v]);
        }
    }
    for (int i = 0; i < Directions; ++i)
        for (int v = 0; v < Vectors; ++v) store(t + i * kMercerRows + v * lanes<T>, sum[i][v]);
}

template <class T, int Directions>
void rotate_rows(const T* centred, index axes, const T* rotation, bool first, index vectors, T* t) {
    for (; vectors >= 2; vectors -= 2, centred += 2 * lanes<T>, t += 2 * lanes<T>)
        rotate_tile<T, 2, Directions>(centred, axes, rotation, first, t);
    if (vectors == 1) rotate_tile<T, 1, Directions>(centred, axes, rotation, first, t);
}

// The rotation if every direction is a multiple of one axis: the other terms of the sum are zero.
template <class T>
void mercer_pick(const MercerGroup<T>& group, const T* centred, index vectors, T* t) {
    for (index i = 0; i < group.directions; ++i, t += kMercerRows) {
        const T* axis = centred + group.only[i] * kMercerRows;
        for (index r = 0; r < vectors * lanes<T>; r += lanes<T>)
            store(t + r, load(axis + r) * group.rotation[i]);
    }
}

// x (axes, kMercerRows) times tiles (axes, directions), added to t, or written to it if `fresh`.
template <class T>
void mercer_rotate(const T* tile, index axes, index directions, const T* x, bool fresh,
                   index vectors, T* t) {
    constexpr index depth = kMercerDepth<T>;
    static_assert(kMercerTile == 6, "one case for every remainder");
    for (index k = 0; k < axes; k += depth, x += depth * kMercerRows) {
        const index deep = axes - k < depth ? axes - k : depth;
        const bool first = fresh && k == 0;
        for (index i = 0; i < directions; i += kMercerTile) {
            const index left = directions - i;
            const index width = left < kMercerTile ? left : kMercerTile;
            T* to = t + i * kMercerRows;
            switch (width) {
                case 6: rotate_rows<T, 6>(x, deep, tile, first, vectors, to); break;
                case 5: rotate_rows<T, 5>(x, deep, tile, first, vectors, to); break;
                case 4: rotate_rows<T, 4>(x, deep, tile, first, vectors, to); break;
                case 3: rotate_rows<T, 3>(x, deep, tile, first, vectors, to); break;
                case 2: rotate_rows<T, 2>(x, deep, tile, first, vectors, to); break;
                case 1: rotate_rows<T, 1>(x, deep, tile, first, vectors, to); break;
            }
            tile += width * deep;
        }
    }
}

// A rotation by a few reflections: the scaled axes, plus a correction of low rank.
template <class T>
void mercer_reflect(const MercerGroup<T>& group, const T* centred, index vectors, T* reflected,
                    T* t) {
    for (index i = 0; i < group.axes; ++i)
        for (index r = 0; r < vectors * lanes<T>; r += lanes<T>)
            store(t + i * kMercerRows + r,
                  load(centred + i * kMercerRows + r) * group.straight[i]);
    mercer_rotate(group.rotation, group.axes, group.reflections, centred, true, vectors, reflected);
    mercer_rotate(group.mixing, group.reflections, group.directions, reflected, false, vectors, t);
}

template <class T>
QUADFEAT_INLINE vec<T> clip(vec<T> x, T limit) {
    x = x < limit ? x : fill<T>(limit);  // also a NaN, from infinity - infinity, which is far away
    return x > -limit ? x : fill<T>(-limit);
}

// q_k(t) with q_0 = exp(-envelope t^2). The recurrence carries q_k / q_0 as a number of moderate size
// and a power of two: neither overflows, and the product with q_0 is rounded to the type once.
template <class T>
void hermite_functions(vec<T> t, T envelope, const T* rise, const T* fall, index size, T* table) {
    constexpr T shrink = T(0x1p-40), large = T(0x1p40), step = T(40);
    vec<T> fraction, power;
    split_exp<T>(-envelope * t * t, fraction, power);
    t = clip<T>(t, large);  // so that one step cannot overflow
    const bits<T> magnitude = ~(bits<T>)fill<T>(T(-0.0));
    vec<T> previous = {}, current = fill<T>(T(1));
    store(table, scale<T>(fraction, power));
    for (index k = 0; k + 1 < size; ++k) {
        const vec<T> next = fma(rise[k] * t, current, -fall[k] * previous);
        const auto grown = (vec<T>)((bits<T>)next & magnitude) > large;
        previous = grown ? current * shrink : current;
        current = grown ? next * shrink : next;
        power = grown ? power + step : power;
        table += lanes<T>;
        store(table, scale<T>(current * fraction, power));
    }
}

// q_k(t) with q_0 = 1: polynomials, clipped at the limit, beyond which the columns they multiply are 0.
template <class T>
void hermite_ratios(vec<T> t, T limit, const T* rise, const T* fall, index size, T* table) {
    t = clip<T>(t, limit);
    vec<T> previous = {}, current = fill<T>(T(1));
    store(table, current);
    for (index k = 0; k + 1 < size; ++k) {
        const vec<T> next = fma(rise[k] * t, current, -fall[k] * previous);
        previous = current;
        current = next;
        table += lanes<T>;
        store(table, current);
    }
}

// Computes the base and the tables of a group for one vector of rows.
template <class T>
void mercer_tables(const MercerGroup<T>& group, const T* t, const T* distance, T* entries) {
    vec<T> exponent = {}, inside = {};
    const T *rise = group.rise, *fall = group.fall;
    T* table = entries + group.table;
    for (index i = 0; i < group.directions; ++i) {
        const vec<T> coordinate = load(t + i * kMercerRows);
        const vec<T> square = coordinate * coordinate;
        const index size = group.sizes[i];
        inside = fma(fill<T>(group.length[i]), square, inside);
        if (i == 0) {
            hermite_functions<T>(coordinate, group.envelope[i], rise, fall, size, table);
        } else {
            exponent = fma(fill<T>(group.envelope[i]), square, exponent);
            hermite_ratios<T>(coordinate, group.limit[i], rise, fall, size, table);
        }
        rise += size - 1;
        fall += size - 1;
        table += size * lanes<T>;
    }
    if (group.has_rest) {
        const vec<T> rest = load(distance) - inside;
        exponent += rest < T(0) ? vec<T>{} : rest;  // a NaN stays, and makes the base zero
    }
    store(entries + group.base, group.amplitude * exp<T>(-exponent));
}

// Computes the columns that are factors of others. `mercer_columns` computes them again for the output:
// reusing them there makes loads wait for stores, which cost 10 to 20 percent.
template <class T>
void mercer_parents(const MercerChunk& chunk, T* entries) {
    const std::int32_t* factors = chunk.parent_factors;
    T* to = entries + chunk.parent;
    for (index c = 0; c < chunk.parents; ++c, factors += 2, to += lanes<T>)
        store(to, load(entries + factors[0]) * load(entries + factors[1]));
}

// Writes vectors [first, last) of the columns of a chunk, starting at `to`.
template <class T>
void mercer_columns(const MercerChunk& chunk, index first, index last, const T* entries,
                    index rows, T* to, Writer<T>& writer) {
    const index overlap = last == chunk.vectors ? chunk.vectors * lanes<T> - chunk.columns : 0;
    const std::int32_t* factors = chunk.factors + 2 * lanes<T> * first;
    const index stride = writer.stride();
    // A cache line of every row at a time: if rows are a multiple of 4 KB apart, half-written lines
    // push each other out of the cache, which cost 10 to 30 percent.
    constexpr index wide = kLine / kBytes;
    index v = first;
    if (rows == lanes<T>)
        for (; v + wide < last; v += wide, to += wide * lanes<T>) {
            vec<T> column[wide][lanes<T>];
            for (index w = 0; w < wide; ++w) {
                for (index i = 0; i < lanes<T>; ++i, factors += 2)
                    column[w][i] = load(entries + factors[0]) * load(entries + factors[1]);
                transpose<T>(column[w]);
            }
            for (index i = 0; i < lanes<T>; ++i)
                for (index w = 0; w < wide; ++w)
                    store(to + i * stride + w * lanes<T>, column[w][i]);
            writer.move(lanes<T>);  // as many lines as were written
        }
    for (; v < last; ++v, to += lanes<T>) {
        vec<T> column[lanes<T>];
        for (index i = 0; i < lanes<T>; ++i, factors += 2)
            column[i] = load(entries + factors[0]) * load(entries + factors[1]);
        transpose<T>(column);
        T* at = v + 1 < last ? to : to - overlap;
        if (rows == lanes<T>) {
            for (index i = 0; i < lanes<T>; ++i) store(at + i * stride, column[i]);
        } else {
            for (index i = 0; i < rows; ++i) store(at + i * stride, column[i]);
        }
        writer.move(lanes<T>);
    }
}

// Writes the columns of a chunk with fewer columns than lanes.
template <class T>
void mercer_few(const MercerChunk& chunk, const T* entries, index rows, T* to, index stride) {
    const std::int32_t* factors = chunk.factors;
    for (index c = 0; c < chunk.columns; ++c, factors += 2) {
        const vec<T> column = load(entries + factors[0]) * load(entries + factors[1]);
        for (index i = 0; i < rows; ++i) to[i * stride + c] = column[i];
    }
}

template <class T>
void mercer_chunk(const MercerWork<T>& work, const MercerChunk& chunk, const Output<T>& out,
                  index begin, index rows, const MercerScratch<T>& plan, T* scratch) {
    const index vectors = (rows + lanes<T> - 1) / lanes<T>;
    T *t = scratch + plan.t, *distance = scratch + plan.distance;
    for (index g = chunk.first; g < chunk.last; ++g) {
        const MercerGroup<T>& group = work.groups[g];
        T* centred = scratch + plan.centred;
        mercer_centre(group, scratch + plan.x, vectors, centred,
                      distance + (g - chunk.first) * kMercerRows);
        T* group_t = t + group.t * kMercerRows;
        if (group.only)
            mercer_pick(group, centred, vectors, group_t);
        else if (group.reflections)
            mercer_reflect(group, centred, vectors, scratch + plan.reflected, group_t);
        else
            mercer_rotate(group.rotation, group.axes, group.directions, centred, true, vectors,
                          group_t);
    }
    T* entries = scratch + plan.tables;
    for (index r = 0; r < rows; r += lanes<T>) {
        for (index g = chunk.first; g < chunk.last; ++g)
            mercer_tables(work.groups[g], t + work.groups[g].t * kMercerRows + r,
                          distance + (g - chunk.first) * kMercerRows + r, entries);
        mercer_parents(chunk, entries);
        const index some = rows - r < lanes<T> ? rows - r : lanes<T>;
        Writer<T> writer(out, begin + r, some, scratch, kMercerBuffers<T>);
        writer.begin(chunk.column);
        if (chunk.vectors == 0)
            mercer_few(chunk, entries, some, writer.take(chunk.columns), writer.stride());
        const index run = writer.capacity() / lanes<T> - 1;  // vectors
        for (index v = 0; v < chunk.vectors;) {
            index last = v + run < chunk.vectors ? v + run : chunk.vectors;
            // The last vector reaches back into the one before: keep the two together.
            if (last == chunk.vectors - 1) ++last;
            const index end = last < chunk.vectors ? last * lanes<T> : chunk.columns;
            mercer_columns(chunk, v, last, entries, some, writer.take(end - v * lanes<T>), writer);
            v = last;
        }
        writer.finish();
    }
}

template <class T>
index mercer_scratch(const MercerWork<T>& work, const Input<T>& in) {
    return MercerScratch<T>(work, in).total * index(sizeof(T));
}

template <class T>
Status mercer(const MercerWork<T>& work, const Input<T>& in, const Output<T>& out, index begin,
              index end, void* memory) {
    const MercerScratch<T> plan(work, in);
    T* scratch = static_cast<T*>(memory);
    const index rows = end - begin, vectors = (rows + lanes<T> - 1) / lanes<T>;
    if (!mercer_read(in, begin, rows, vectors, scratch + plan.x)) return Status::overflow;
    for (index c = 0; c < work.chunks; ++c)
        mercer_chunk(work, work.chunk[c], out, begin, rows, plan, scratch);
    stream_fence();
    return Status::ok;
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
