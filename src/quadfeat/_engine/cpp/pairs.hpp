// Kernel values of rows with points for one instruction set: differences summed over the axes, points
// in lanes, and one exponential per pair.
#pragma once

#include "block.hpp"
#include "exp.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

template <class T>
index pairs_scratch(const PairWork<T>& work, const Input<T>&) {
    return (kBlockRows * work.axes + kPairVectors * lanes<T>)*index(sizeof(T));
}

// The kernel from the sum of distances; `factor` is the product of polynomials of the axes.
template <class T, PairForm Form>
QUADFEAT_INLINE vec<T> pair_value(vec<T> sum, vec<T> factor) {
    if constexpr (Form == PairForm::gaussian || Form == PairForm::laplacian) return exp<T>(-sum);
    if constexpr (Form == PairForm::product3 || Form == PairForm::product5) {
        const T far = T(sizeof(T) == 4 ? 80 : 700);  // the polynomial may overflow, but the kernel is 0
        return sum > far ? vec<T>{} : factor * exp<T>(-sum);
    }
    vec<T> t = root(sum);
    t = t > T(1e4) ? fill<T>(T(1e4)) : t;  // the kernel is 0, t * t would overflow
    const vec<T> one = fill<T>(T(1));
    if constexpr (Form == PairForm::matern1) return exp<T>(-t);
    if constexpr (Form == PairForm::matern3) return (one + t) * exp<T>(-t);
    return fma(t, fma(t, fill<T>(T(1) / 3), one), one) * exp<T>(-t);
}

// One tile of points with `Rows` rows (in length scales), into `to`.
template <class T, PairForm Form, index Rows>
void pair_tile(const T* x, index axes, const T* panel, T* const* to) {
    constexpr index width = kPairVectors;
    constexpr bool product = Form == PairForm::product3 || Form == PairForm::product5;
    constexpr bool taxicab = product || Form == PairForm::laplacian;
    const vec<T> one = fill<T>(T(1)), third = fill<T>(T(1) / 3);
    const bits<T> magnitude = ~(bits<T>)fill<T>(T(-0.0));
    vec<T> sum[Rows][width] = {}, factor[Rows][width];
    for (index r = 0; r < Rows; ++r)
        for (index v = 0; v < width; ++v) factor[r][v] = one;
    for (index i = 0; i < axes; ++i, panel += width * lanes<T>)
#pragma GCC unroll 2
        for (index r = 0; r < Rows; ++r) {
            const vec<T> at = fill<T>(x[r * axes + i]);
#pragma GCC unroll 4
            for (index v = 0; v < width; ++v) {
                vec<T> gap = at - load(panel + v * lanes<T>);
                if constexpr (!taxicab) {
                    sum[r][v] = fma(gap, gap, sum[r][v]);
                    continue;
                }
                gap = (vec<T>)((bits<T>)gap & magnitude);
                sum[r][v] += gap;
                if constexpr (Form == PairForm::product3) factor[r][v] *= one + gap;
                if constexpr (Form == PairForm::product5)
                    factor[r][v] *= fma(gap, fma(gap, third, one), one);
            }
        }
    for (index r = 0; r < Rows; ++r)
        for (index v = 0; v < width; ++v)
            store(to[r] + v * lanes<T>, pair_value<T, Form>(sum[r][v], factor[r][v]));
}

template <class T, PairForm Form>
void pair_rows(const PairWork<T>& work, const T* x, index rows, const Output<T>& out, index begin,
               T* last) {
    constexpr index width = kPairVectors * lanes<T>;
    for (index first = 0; first < work.points; first += width) {
        const T* panel = work.panels + first * work.axes;
        const index count = work.points - first < width ? work.points - first : width;
        index r = 0;
        if (count == width)
            for (; r + 2 <= rows; r += 2) {
                T* to = out.data + (begin + r) * out.row_stride + first;
                T* const both[2] = {to, to + out.row_stride};
                pair_tile<T, Form, 2>(x + r * work.axes, work.axes, panel, both);
            }
        for (; r < rows; ++r) {
            T* to = out.data + (begin + r) * out.row_stride + first;
            T* const one[1] = {count == width ? to : last};
            pair_tile<T, Form, 1>(x + r * work.axes, work.axes, panel, one);
            if (count < width)
                for (index k = 0; k < count; ++k) to[k] = last[k];
        }
    }
}

template <class T>
Status pairs(const PairWork<T>& work, const Input<T>& in, const Output<T>& out, index begin,
             index end, void* scratch) {
    T* x = static_cast<T*>(scratch);
    T* last = x + kBlockRows * work.axes;
    T odd = 0;  // x - x is zero unless x is not finite
    for (index r = begin; r < end; ++r)
        for (index i = 0; i < work.axes; ++i) {
            const T value = in.data[r * in.row_stride + i * in.column_stride];
            odd += value - value;
            x[(r - begin) * work.axes + i] = value * work.scale[i];
        }
    if (odd != 0) return Status::overflow;
    const index rows = end - begin;
    switch (work.form) {
        case PairForm::gaussian:
            pair_rows<T, PairForm::gaussian>(work, x, rows, out, begin, last);
            break;
        case PairForm::laplacian:
            pair_rows<T, PairForm::laplacian>(work, x, rows, out, begin, last);
            break;
        case PairForm::matern1:
            pair_rows<T, PairForm::matern1>(work, x, rows, out, begin, last);
            break;
        case PairForm::matern3:
            pair_rows<T, PairForm::matern3>(work, x, rows, out, begin, last);
            break;
        case PairForm::matern5:
            pair_rows<T, PairForm::matern5>(work, x, rows, out, begin, last);
            break;
        case PairForm::product3:
            pair_rows<T, PairForm::product3>(work, x, rows, out, begin, last);
            break;
        case PairForm::product5:
            pair_rows<T, PairForm::product5>(work, x, rows, out, begin, last);
            break;
    }
    return Status::ok;
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
