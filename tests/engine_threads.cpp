// The kernels under a thread sanitizer, without Python: many threads evaluate blocks of one output,
// by every way to memory, and the result must equal that of one thread.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

#include "../src/quadfeat/_engine/engine.hpp"

namespace quadfeat {
namespace {

template <class T>
bool agree(const Kernels<T>& kernels, index lanes) {
    const index rows = 203, axes = 5, vectors = 4, count = vectors * lanes - 1, loose = 1;
    std::vector<T> panels, amplitudes(std::size_t(vectors * lanes), T(0.5)), single(5, T(0.3));
    for (index i = 0; i < vectors * axes * lanes; ++i) panels.push_back(T(i % 17) / 8);
    const T single_amplitude = T(0.5);
    const NodeSet<T> set = {count + loose, axes,          vectors,       loose,
                                      panels.data(), amplitudes.data(), single.data(),
                                      &single_amplitude};
    const index axes_ptr[] = {0, 5, 10}, columns[] = {0, 1, 2, 3, 4, 4, 3, 2, 1, 0};
    const index group_nodes[] = {0, 0};
    const FourierWork<T> work = {2, axes_ptr, columns, group_nodes, &set, true, 100.0,
                                           true, T(2)};
    std::vector<T> X;
    for (index i = 0; i < rows * axes; ++i) X.push_back(T(std::sin(double(i))));
    const Input<T> in = {X.data(), rows, axes, axes, 1};
    const index width = 4 * (count + loose) + 1;
    std::vector<T> first(std::size_t(rows * width)), other(first.size());
    const index bytes = (kernels.fourier_scratch(work, in) / 64 + 1) * 64;

    const auto run = [&](std::vector<T>& z, int threads, Way way) {
        const Output<T> out = {z.data(), rows, width, width, way};
        std::atomic<index> next{0};
        const auto loop = [&] {
            void* scratch = std::aligned_alloc(64, std::size_t(bytes));
            for (index r; (r = next.fetch_add(8)) < rows;)
                kernels.fourier(work, in, out, r, r + 8 < rows ? r + 8 : rows, scratch);
            std::free(scratch);
        };
        std::vector<std::thread> pool;
        for (int t = 0; t < threads; ++t) pool.emplace_back(loop);
        for (std::thread& t : pool) t.join();
    };
    bool same = true;
    run(first, 1, Way::cached);
    for (const auto way : {Way::cached, Way::fetched, Way::around}) {
        run(other, 4, way);
        same = same && std::memcmp(first.data(), other.data(), first.size() * sizeof(T)) == 0;
    }
    return same;
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
