// The table of routines of one instruction set (`Routines` in work.hpp). Included by units/*.cpp,
// which define QUADFEAT_ISA and QUADFEAT_BYTES first.
#pragma once

#include "fourier.hpp"
#include "kronecker.hpp"
#include "mercer.hpp"
#include "pairs.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// ---- exp, sincos and stores by themselves, for tests and benchmarks ------------------------------

template <class T>
void exp_array(const T* x, T* to, index count) {
    for (index i = 0; i < count; i += lanes<T>) {
        const index left = count - i < lanes<T> ? count - i : lanes<T>;
        T some[lanes<T>] = {};
        for (index k = 0; k < left; ++k) some[k] = x[i + k];
        store(some, exp<T>(load(some)));
        for (index k = 0; k < left; ++k) to[i + k] = some[k];
    }
}

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
constexpr Routines<T> routines() {
    return {fourier_scratch<T>, fourier<T>, kronecker_scratch<T>, kronecker<T>,
            mercer_scratch<T>,  mercer<T>,  pairs_scratch<T>,     pairs<T>,
            exp_array<T>,       sincos_array<T>, write<T>};
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
