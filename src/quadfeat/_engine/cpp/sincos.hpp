// cos(pi t) and sin(pi t): angles in half-turns, so that the range reduction is exact for every
// float. t = q + r with q an integer and |r| <= 1/2 gives (-1)^q times a polynomial in r^2; the
// polynomials are minimax for the absolute error (their coefficients were rounded one by one, from
// the lowest, refitting the rest) and cos(0) = 1 exactly.
#pragma once

#include "simd.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

template <class T>
struct Trig;
template <>
struct Trig<float> {
    static constexpr float round = 0x1.8p23f;     // x + round - round rounds x to an integer
    static constexpr float limit = 0x1p22f;       // ... for |x| < limit, leaving its parity in bit 0
    static constexpr float integers = 0x1p23f;    // from here on every float is an integer
    static constexpr int sign_shift = 31;
    static constexpr float sine[] = {0x1.921fb4p+1f, -0x1.4abbap+2f, 0x1.4664acp+1f,
                                     -0x1.31f2fep-1f, 0x1.3882dp-4f};
    static constexpr float cosine[] = {1.0f, -0x1.3bd3bp+2f, 0x1.03bd9ap+2f, -0x1.55020ap+0f,
                                       0x1.c2930ap-3f};
};
template <>
struct Trig<double> {
    static constexpr double round = 0x1.8p52;
    static constexpr double limit = 0x1p51;
    static constexpr double integers = 0x1p52;
    static constexpr int sign_shift = 63;
    static constexpr double sine[] = {
        0x1.921fb54442d13p+1, -0x1.4abbce625bc18p+2, 0x1.466bc6774a370p+1, -0x1.32d2ccdf7ee9cp-1,
        0x1.507831b079ea3p-4, -0x1.e305f25d7520cp-8, 0x1.e894cc78c5713p-12, -0x1.61d9ad19e7defp-16};
    static constexpr double cosine[] = {
        1.0, -0x1.3bd3cc9be45dcp+2, 0x1.03c1f081b599ap+2, -0x1.55d3c7e3bf6c3p+0,
        0x1.e1f50680e2499p-3, -0x1.a6d1efa7e419ep-6, 0x1.f9d24865078c9p-10, -0x1.b6935b35fd407p-14,
        0x1.16530d26013a1p-18};
};

// The coefficients as vectors in memory. The pointer hides from the compiler that they are
// constants: it uses them as memory operands, instead of broadcasting all of them ahead of every
// short loop and spilling the accumulators.
template <class T>
struct Coefficients {
    static constexpr int cosines = sizeof(Trig<T>::cosine) / sizeof(T);
    static constexpr int sines = sizeof(Trig<T>::sine) / sizeof(T);
    vec<T> round, cosine[cosines], sine[sines];
};

template <class T>
QUADFEAT_INLINE void fill_coefficients(Coefficients<T>& table) {
    using P = Trig<T>;
    table.round = fill<T>(P::round);
    for (int k = 0; k < table.cosines; ++k) table.cosine[k] = fill<T>(P::cosine[k]);
    for (int k = 0; k < table.sines; ++k) table.sine[k] = fill<T>(P::sine[k]);
}

// t minus an even integer, |result| <= 1, exact for every finite t; needed from Trig::limit on.
template <class T>
QUADFEAT_INLINE vec<T> drop_turns(vec<T> t) {
    const bits<T> sign_bit = (bits<T>)fill<T>(T(-0.0));
    const bits<T> sign = (bits<T>)t & sign_bit;
    const vec<T> size = (vec<T>)((bits<T>)t & ~sign_bit);
    const vec<T> half = size * T(0.5);
    const vec<T> turns = half < Trig<T>::integers ? (half + Trig<T>::integers) - Trig<T>::integers
                                                  : half;
    return (vec<T>)((bits<T>)(size - (turns + turns)) ^ sign);
}

// amplitude * cos(pi t), amplitude * sin(pi t) for N vectors side by side, to hide the latency of
// the polynomials; with Wide = false for |t| < Trig::limit only, where both give the same bits.
template <class T, bool Wide, int N>
QUADFEAT_INLINE void sincos(const Coefficients<T>& table, const vec<T>* t, const vec<T>* amplitude,
                            vec<T>* cosine, vec<T>* sine) {
    vec<T> u[N], scale[N], odd[N], c[N], s[N];
    for (int i = 0; i < N; ++i) {
        const vec<T> angle = Wide ? drop_turns<T>(t[i]) : t[i];
        const vec<T> shifted = angle + table.round;
        const vec<T> r = angle - (shifted - table.round);
        scale[i] = (vec<T>)(((bits<T>)shifted << Trig<T>::sign_shift) ^ (bits<T>)amplitude[i]);
        u[i] = r * r;
        odd[i] = r * scale[i];
        c[i] = table.cosine[table.cosines - 1];
        s[i] = table.sine[table.sines - 1];
    }
    for (int k = table.cosines - 2; k >= 0; --k) {
        for (int i = 0; i < N; ++i) c[i] = fma(c[i], u[i], table.cosine[k]);
        if (k < table.sines - 1)
            for (int i = 0; i < N; ++i) s[i] = fma(s[i], u[i], table.sine[k]);
    }
    for (int i = 0; i < N; ++i) {
        cosine[i] = c[i] * scale[i];
        sine[i] = s[i] * odd[i];
    }
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
