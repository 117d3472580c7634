// Vectors of QUADFEAT_BYTES bytes by compiler extensions: the same source for SSE2, AVX2, AVX-512
// and NEON. Multiply-add is explicit, never left to the compiler, so that all paths of one
// instruction set round alike. Define QUADFEAT_ISA and QUADFEAT_BYTES before including it (see
// units/).
#pragma once

#include <cstdint>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "work.hpp"

#define QUADFEAT_INLINE static inline __attribute__((always_inline))

namespace quadfeat {
namespace QUADFEAT_ISA {

constexpr index kBytes = QUADFEAT_BYTES;

template <class T>
struct Simd;
template <>
struct Simd<float> {
    typedef float vec __attribute__((vector_size(kBytes)));
    typedef std::uint32_t bits __attribute__((vector_size(kBytes)));
    static constexpr index lanes = kBytes / 4;
};
template <>
struct Simd<double> {
    typedef double vec __attribute__((vector_size(kBytes)));
    typedef std::uint64_t bits __attribute__((vector_size(kBytes)));
    static constexpr index lanes = kBytes / 8;
};
template <class T>
using vec = typename Simd<T>::vec;
template <class T>
using bits = typename Simd<T>::bits;
template <class T>
constexpr index lanes = Simd<T>::lanes;

template <class T>
QUADFEAT_INLINE vec<T> load(const T* p) {
    vec<T> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
QUADFEAT_INLINE void store(T* p, vec<T> v) {
    std::memcpy(p, &v, sizeof v);
}
template <class T>
QUADFEAT_INLINE vec<T> fill(T x) {
    return x - vec<T>{};
}

// a * b + c, rounded once if the instruction set can.
#if defined(__AVX512F__)
QUADFEAT_INLINE vec<float> fma(vec<float> a, vec<float> b, vec<float> c) {
    return (vec<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
QUADFEAT_INLINE vec<double> fma(vec<double> a, vec<double> b, vec<double> c) {
    return (vec<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__FMA__)
QUADFEAT_INLINE vec<float> fma(vec<float> a, vec<float> b, vec<float> c) {
    return (vec<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
QUADFEAT_INLINE vec<double> fma(vec<double> a, vec<double> b, vec<double> c) {
    return (vec<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#elif defined(__aarch64__)
QUADFEAT_INLINE vec<float> fma(vec<float> a, vec<float> b, vec<float> c) {
    return (vec<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
QUADFEAT_INLINE vec<double> fma(vec<double> a, vec<double> b, vec<double> c) {
    return (vec<double>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
template <class V>
QUADFEAT_INLINE V fma(V a, V b, V c) {
    return a * b + c;
}
#endif

// The square roots of numbers that are not negative, rounded to nearest.
#if defined(__AVX512F__)
QUADFEAT_INLINE vec<float> root(vec<float> a) { return (vec<float>)_mm512_sqrt_ps((__m512)a); }
QUADFEAT_INLINE vec<double> root(vec<double> a) { return (vec<double>)_mm512_sqrt_pd((__m512d)a); }
#elif defined(__AVX__)
QUADFEAT_INLINE vec<float> root(vec<float> a) { return (vec<float>)_mm256_sqrt_ps((__m256)a); }
QUADFEAT_INLINE vec<double> root(vec<double> a) { return (vec<double>)_mm256_sqrt_pd((__m256d)a); }
#elif defined(__SSE2__)
QUADFEAT_INLINE vec<float> root(vec<float> a) { return (vec<float>)_mm_sqrt_ps((__m128)a); }
QUADFEAT_INLINE vec<double> root(vec<double> a) { return (vec<double>)_mm_sqrt_pd((__m128d)a); }
#elif defined(__aarch64__)
QUADFEAT_INLINE vec<float> root(vec<float> a) { return (vec<float>)vsqrtq_f32((float32x4_t)a); }
QUADFEAT_INLINE vec<double> root(vec<double> a) { return (vec<double>)vsqrtq_f64((float64x2_t)a); }
#else
template <class V>
QUADFEAT_INLINE V root(V a) {
    for (std::size_t i = 0; i < sizeof a / sizeof a[0]; ++i) a[i] = __builtin_sqrt(a[i]);
    return a;
}
#endif

// A store around the cache, to an aligned address.
template <class T>
QUADFEAT_INLINE void stream(T* p, vec<T> v) {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i*)p, (__m512i)v);
#elif defined(__AVX__)
    _mm256_stream_si256((__m256i*)p, (__m256i)v);
#elif defined(__SSE2__)
    _mm_stream_si128((__m128i*)p, (__m128i)v);
#else
    store(p, v);
#endif
}
QUADFEAT_INLINE void stream_fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// ---- a square of lanes x lanes elements, transposed in registers --------------------------------

// Element i of the result of interleaving, inside every 16 bytes, runs of `run` elements of the
// first (high = 0) or second (high = 1) halves of a and b; indices from `lanes` on mean b.
template <class T>
constexpr index zip_source(index i, index run, index high) {
    const index part = 16 / sizeof(T);
    const index lane = i / part * part, j = i % part;
    const index pair = j / (2 * run), side = j / run % 2, k = j % run;
    return lane + high * part / 2 + pair * run + k + side * lanes<T>;
}
// The same for whole 16-byte parts and larger: block `high` of every pair of blocks, a's then b's.
template <class T>
constexpr index swap_source(index i, index run, index high) {
    const index pair = i / (2 * run), side = i / run % 2, k = i % run;
    return pair * 2 * run + high * run + k + side * lanes<T>;
}

template <class T, bool Zip, index Run, index High, index... I>
QUADFEAT_INLINE vec<T> exchange(vec<T> a, vec<T> b) {
#if defined(__clang__)
    return __builtin_shufflevector(
        a, b, (Zip ? zip_source<T>(I, Run, High) : swap_source<T>(I, Run, High))...);
#else
    typedef bits<T> mask;
    return __builtin_shuffle(a, b, (mask){static_cast<decltype(mask{}[0] + 0)>(
        Zip ? zip_source<T>(I, Run, High) : swap_source<T>(I, Run, High))...});
#endif
}

template <class T, bool Zip, index Run, index High>
QUADFEAT_INLINE vec<T> exchange_all(vec<T> a, vec<T> b) {
    if constexpr (lanes<T> == 2) return exchange<T, Zip, Run, High, 0, 1>(a, b);
    else if constexpr (lanes<T> == 4) return exchange<T, Zip, Run, High, 0, 1, 2, 3>(a, b);
    else if constexpr (lanes<T> == 8)
        return exchange<T, Zip, Run, High, 0, 1, 2, 3, 4, 5, 6, 7>(a, b);
    else
        return exchange<T, Zip, Run, High, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>(
            a, b);
}

// Exchange blocks of `Run` elements between the vectors v[i] and v[i + Run] of every pair of runs.
template <class T, index Run>
QUADFEAT_INLINE void swap_stage(vec<T>* v) {
    for (index i = 0; i < lanes<T>; i += 2 * Run)
        for (index k = i; k < i + Run; ++k) {
            const vec<T> a = v[k], b = v[k + Run];
            v[k] = exchange_all<T, false, Run, 0>(a, b);
            v[k + Run] = exchange_all<T, false, Run, 1>(a, b);
        }
}

template <class T>
QUADFEAT_INLINE void transpose(vec<T>* v) {
    constexpr index part = 16 / sizeof(T);
    // Inside 16-byte parts: part vectors at a time, by interleaving (one instruction each).
    for (index i = 0; i < lanes<T>; i += part) {
        if constexpr (part == 2) {
            const vec<T> a = v[i], b = v[i + 1];
            v[i] = exchange_all<T, true, 1, 0>(a, b);
            v[i + 1] = exchange_all<T, true, 1, 1>(a, b);
        } else {
            const vec<T> a = exchange_all<T, true, 1, 0>(v[i], v[i + 1]);
            const vec<T> b = exchange_all<T, true, 1, 1>(v[i], v[i + 1]);
            const vec<T> c = exchange_all<T, true, 1, 0>(v[i + 2], v[i + 3]);
            const vec<T> d = exchange_all<T, true, 1, 1>(v[i + 2], v[i + 3]);
            v[i] = exchange_all<T, true, 2, 0>(a, c);
            v[i + 1] = exchange_all<T, true, 2, 1>(a, c);
            v[i + 2] = exchange_all<T, true, 2, 0>(b, d);
            v[i + 3] = exchange_all<T, true, 2, 1>(b, d);
        }
    }
    if constexpr (lanes<T> > part) swap_stage<T, part>(v);
    if constexpr (lanes<T> > 2 * part) swap_stage<T, 2 * part>(v);
}

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
