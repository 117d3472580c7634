// Full grids for one instruction set: Kronecker products of 1-D features, rows in lanes.
#pragma once

#include "block.hpp"
#include "writer.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

template <class T>
struct KroneckerScratch {
    index x_lanes, table, prefix, copy, total;  // elements
    KroneckerScratch(const KroneckerWork<T>& work, const Input<T>& in) {
        x_lanes = kBuffers<T>;
        table = x_lanes + in.columns * lanes<T>;
        prefix = table + work.features * lanes<T>;
        copy = prefix + 2 * work.largest_prefix * lanes<T>;
        total = copy + (in.column_stride != 1 ? kBlockRows * in.columns : 0);
    }
};

// Computes the 1-D features of all entries for one vector of rows.
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

// Multiplies columns with rows in lanes and transposes them to rows of the output.
template <class T>
void multiply_columns(const T* left, const T* right, const index* factors, index columns,
                      index rows, T* to, Writer<T>& writer) {
    const index stride = writer.stride();
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
        writer.fetch(lanes<T> * lanes<T> / Writer<T>::line + 1);  // slightly more than was written
    }
    for (; c < columns; ++c, factors += 2) {
        const vec<T> v = load(left + factors[0]) * load(right + factors[1]);
        for (index i = 0; i < rows; ++i) to[i * stride + c] = v[i];
    }
}

template <class T>
void kronecker_rows(const KroneckerWork<T>& work, const T* table, index rows, Writer<T>& writer,
                    T* prefix) {
    writer.begin(0);
    const index run = writer.capacity() / lanes<T> * lanes<T>;
    for (index g = 0; g < work.groups; ++g) {
        const index* entries = work.group_entries + work.group_ptr[g];
        const index count = work.group_ptr[g + 1] - work.group_ptr[g];
        // The product of all entries but the last, in the order of the columns.
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
            T* to = writer.take(columns);
            multiply_columns(head, features, factors, columns, rows, to, writer);
            writer.move(2 * columns * rows / Writer<T>::line);  // the rest of the previous buffer
            factors += 2 * columns;
            left -= columns;
        }
    }
    if (work.has_constant) {
        T* last = writer.take(1);
        for (index r = 0; r < rows; ++r) last[r * writer.stride()] = work.constant;
    }
    writer.finish();
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
        Writer<T> writer(out, r, rows, scratch, kBuffers<T>);
        kronecker_rows(work, scratch + plan.table, rows, writer, scratch + plan.prefix);
        block.x += lanes<T> * block.stride;
    }
    stream_fence();
    return Status::ok;
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
