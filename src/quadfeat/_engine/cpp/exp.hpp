// exp(x) as a fraction times a power of two, kept apart so that a caller can move the power before
// it underflows. x = n log(2) + r with n an integer and |r| <= log(2) / 2; the fraction is the
// Taylor polynomial of exp(r); its first omitted term is below a tenth of the rounding error.
#pragma once

#include "simd.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

template <class T>
struct Power;
template <>
struct Power<float> {
    static constexpr float round = 0x1.8p23f;  // x + round - round rounds x to an integer
    static constexpr float log2_high = 0x1.63p-1f;  // n * log2_high is exact
    static constexpr float log2_low = -0x1.bd0106p-13f;
    static constexpr float lowest = -0x1p21f;  // `round` works, and 2^16 steps of 2^40 stay below 1
    static constexpr int shift = 23, bias = 127, degree = 7;
};
template <>
struct Power<double> {
    static constexpr double round = 0x1.8p52;
    static constexpr double log2_high = 0x1.62e4p-1, log2_low = 0x1.7f7d1cf79abcap-20;
    static constexpr double lowest = -0x1p21;
    static constexpr int shift = 52, bias = 1023, degree = 13;
};

// fraction * 2^power = exp(x) for x <= 0 of any size; a NaN counts as -infinity.
template <class T>
QUADFEAT_INLINE void split_exp(vec<T> x, vec<T>& fraction, vec<T>& power) {
    using P = Power<T>;
    static constexpr T inverse[] = {
        T(1),          T(1),           T(1) / 2,         T(1) / 6,         T(1) / 24,
        T(1) / 120,    T(1) / 720,     T(1) / 5040,      T(1) / 40320,     T(1) / 362880,
        T(1) / 3628800, T(1) / 39916800, T(1) / 479001600, T(1) / 6227020800};
    x = x > P::lowest ? x : fill<T>(P::lowest);
    const vec<T> n = fma(x, fill<T>(T(1.44269504088896340736)), fill<T>(P::round)) - P::round;
    vec<T> r = fma(n, fill<T>(-P::log2_high), x);
    r = fma(n, fill<T>(-P::log2_low), r);
    vec<T> sum = fill<T>(inverse[P::degree]);
#pragma GCC unroll 16
    for (int k = P::degree - 1; k >= 0; --k) sum = fma(sum, r, fill<T>(inverse[k]));
    fraction = sum;
    power = n;
}

// 2^n for integers n that are exponents of normal numbers.
template <class T>
QUADFEAT_INLINE vec<T> power_of_two(vec<T> n) {
    using P = Power<T>;
    return (vec<T>)((bits<T>)(n + (P::round + T(P::bias))) << P::shift);
}

// x * 2^power in two steps, each an exponent of normal numbers, so that it underflows gradually;
// for powers that do not overflow.
template <class T>
QUADFEAT_INLINE vec<T> scale(vec<T> x, vec<T> power) {
    using P = Power<T>;
    constexpr T least = T(2 * (1 - P::bias));
    power = power > least ? power : fill<T>(least);
    const vec<T> half = (power * T(0.5) + P::round) - P::round;
    return x * power_of_two<T>(half) * power_of_two<T>(power - half);
}

template <class T>
QUADFEAT_INLINE vec<T> exp(vec<T> x) {
    vec<T> fraction, power;
    split_exp<T>(x, fraction, power);
    return scale<T>(fraction, power);
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
