// Arguments from Python: array types, and the checks that keep routines inside their arrays. All
// other rules of a plan are checked by `check()` in plans.py.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "isa.hpp"
#include "work.hpp"

namespace quadfeat {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Target = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

// Joins the message only on failure: most checks run once per value.
template <class... Parts>
void require(bool holds, const Parts&... otherwise) {
    if (holds) return;
    std::ostringstream message;
    (message << ... << otherwise);
    throw std::invalid_argument(message.str());
}

// A keyword argument of a plan.
template <class Value>
Value field(const nb::kwargs& fields, const char* name) {
    Value value{};
    if (!fields.contains(name) || !nb::try_cast(fields[name], value))
        throw nb::type_error((std::string(name) + " is missing, or of another type").c_str());
    return value;
}

inline std::vector<index> copy(const Vector<index>& a) {
    return std::vector<index>(a.data(), a.data() + a.size());
}
inline std::vector<double> copy(const Vector<double>& a) {
    return std::vector<double>(a.data(), a.data() + a.size());
}

// Offsets start at 0, never decrease, and end at the length of the array they cut.
inline void check_pointer(const char* name, const std::vector<index>& ptr, index total) {
    require(!ptr.empty() && ptr.front() == 0 && ptr.back() == total &&
                std::is_sorted(ptr.begin(), ptr.end()),
            name, " must rise from 0 to ", total);
}

inline void check_indices(const char* name, const std::vector<index>& values, index count) {
    for (const index value : values)
        require(0 <= value && value < count, name, " holds ", value, ", which is outside [0, ",
                count, ")");
}

// For values rounded to the type of the features.
template <class Values>
void check_finite(const char* name, const Values& values) {
    for (const auto value : values) require(std::isfinite(value), name, " must be finite");
}

template <class T>
Input<T> input_of(const Matrix<T>& X, index features) {
    require(index(X.shape(1)) == features, "X has ", index(X.shape(1)),
            " columns, but the plan is for ", features);
    return {X.data(), index(X.shape(0)), index(X.shape(1)), X.stride(0), X.stride(1)};
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

}  // namespace quadfeat
