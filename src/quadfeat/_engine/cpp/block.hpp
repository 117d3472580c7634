// A block of rows for the Fourier and Kronecker routines: unit stride, checked for overflow.
#pragma once

#include "sincos.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// The largest |x| of a block of rows, or NaN if a value is not finite.
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

// Fills a block with rows [begin, begin + rows); `copy` has room for them if columns are strided.
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

// Copies rows into lanes: (columns, stride), zero beyond the last row.
template <class T>
void rows_to_lanes(const Block<T>& block, index rows, index columns, T* to, index stride) {
    for (index i = 0; i < columns; ++i)
        for (index r = 0; r < stride; ++r)
            to[i * stride + r] = r < rows ? block.x[r * block.stride + i] : T(0);
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
