// The sharing of rows and the kernels under a thread sanitizer, without Python: many threads evaluate
// blocks of one output, by every way to memory, and the result must equal that of one thread.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "../../src/quadfeat/_engine/cpp/work.hpp"
#include "../../src/quadfeat/_engine/cpp/threads.hpp"

namespace quadfeat {
namespace {

constexpr index kTestRows = 2003, kTestAxes = 5;

template <class T>
std::vector<T> some_rows() {
    std::vector<T> X;
    for (index i = 0; i < kTestRows * kTestAxes; ++i) X.push_back(T(std::sin(double(i))));
    return X;
}

// kernel(out, begin, end, scratch) on one thread, then on four by every way to memory.
template <class T, class Kernel>
bool same_bits(index width, index bytes, Kernel kernel) {
    std::vector<T> first(std::size_t(kTestRows * width)), other(first.size());
    const auto run = [&](std::vector<T>& z, index threads, Way way) {
        const Output<T> out = {z.data(), kTestRows, width, width, way};
        // As many columns as make four threads worth their start.
        share_rows(kTestRows, std::max(width, 4 * kElementsPerThread / kTestRows), kRows<T>, threads,
                   bytes, [&](index begin, index end, void* scratch) {
                       return kernel(out, begin, end, scratch);
                   });
    };
    bool same = true;
    run(first, 1, Way::cached);
    for (const auto way : {Way::cached, Way::fetched, Way::around}) {
        run(other, 4, way);
        same = same && std::memcmp(first.data(), other.data(), first.size() * sizeof(T)) == 0;
    }
    return same;
}

template <class T>
bool fourier_agrees(const Routines<T>& routines, index lanes) {
    const index axes = kTestAxes, vectors = 4, count = vectors * lanes - 1, loose = 1;
    std::vector<T> panels, amplitudes(std::size_t(vectors * lanes), T(0.5)), single(5, T(0.3));
    for (index i = 0; i < vectors * axes * lanes; ++i) panels.push_back(T(i % 17) / 8);
    const T single_amplitude = T(0.5);
    const NodeSet<T> set = {count + loose,     axes,          vectors,          loose, panels.data(),
                            amplitudes.data(), single.data(), &single_amplitude};
    const index axes_ptr[] = {0, 5, 10}, columns[] = {0, 1, 2, 3, 4, 4, 3, 2, 1, 0};
    const index group_nodes[] = {0, 0};
    const FourierWork<T> work = {2, axes_ptr, columns, group_nodes, &set, true, 100.0, true, T(2)};
    const std::vector<T> X = some_rows<T>();
    const Input<T> in = {X.data(), kTestRows, axes, axes, 1};
    return same_bits<T>(4 * (count + loose) + 1, routines.fourier_scratch(work, in),
                        [&](const Output<T>& out, index begin, index end, void* scratch) {
                            return routines.fourier(work, in, out, begin, end, scratch);
                        });
}

// Two entries of one node and a middle each, three features, and one group of their nine products.
template <class T>
bool kronecker_agrees(const Routines<T>& routines, index lanes) {
    const index entry_axis[] = {0, 3}, entry_ptr[] = {0, 1, 2}, feature_ptr[] = {0, 3, 6};
    const T nodes[] = {T(0.25), T(0.5)}, amplitudes[] = {T(0.5), T(0.25)}, middle[] = {T(1), T(2)};
    const index group_ptr[] = {0, 2}, group_entries[] = {0, 1}, group_factors[] = {0};
    const index group_columns[] = {9};
    const T scale[] = {T(1)};
    std::vector<index> factors;
    for (index c = 0; c < 9; ++c) {
        factors.push_back(c / 3 * lanes);
        factors.push_back(c % 3 * lanes);
    }
    const KroneckerWork<T> work = {2,          6,             entry_axis, entry_ptr,      feature_ptr,
                                   nodes,      amplitudes,    middle,     0.5,            1,
                                   group_ptr,  group_entries, scale,      factors.data(), group_factors,
                                   group_columns, 3,          false,      T(0)};
    const std::vector<T> X = some_rows<T>();
    const Input<T> in = {X.data(), kTestRows, kTestAxes, kTestAxes, 1};
    return same_bits<T>(9, routines.kronecker_scratch(work, in),
                        [&](const Output<T>& out, index begin, index end, void* scratch) {
                            return routines.kronecker(work, in, out, begin, end, scratch);
                        });
}

template <class T>
bool agree(const Routines<T>& routines, index lanes) {
    return fourier_agrees(routines, lanes) && kronecker_agrees(routines, lanes);
}

bool agree(const Isa& isa) {
    const bool same = agree(isa.f32, isa.vector_bytes / 4) && agree(isa.f64, isa.vector_bytes / 8);
    std::printf("%s: %s\n", isa.name, same ? "same bits" : "DIFFERENT");
    return same;
}

}  // namespace
}  // namespace quadfeat

int main() {
    bool same = quadfeat::agree(quadfeat::isa_baseline);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        same = quadfeat::agree(quadfeat::isa_avx2) && same;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        same = quadfeat::agree(quadfeat::isa_avx512) && same;
#endif
    return same ? 0 : 1;
}
