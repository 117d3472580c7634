// What this processor offers: instruction sets, cache size, the best way to memory.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "work.hpp"

namespace quadfeat {

// The instruction sets compiled in and supported by this processor, best first.
inline std::vector<const Isa*> supported() {
    std::vector<const Isa*> isas;
#if defined(QUADFEAT_X86_UNITS)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        isas.push_back(&isa_avx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        isas.push_back(&isa_avx2);
#endif
    isas.push_back(&isa_baseline);
    return isas;
}

inline const Isa& find_isa(const std::string& name) {
    std::string names;
    for (const Isa* isa : supported()) {
        if (name == isa->name) return *isa;
        names += std::string(names.empty() ? "" : ", ") + isa->name;
    }
    throw std::invalid_argument("instruction set '" + name + "' is not available here; choose from " +
                                names);
}

template <class T>
const Routines<T>& routines_of(const Isa& isa) {
    if constexpr (sizeof(T) == 4) return isa.f32;
    else return isa.f64;
}

// Size of the second-level cache, 1 MB if unknown.
inline index cache_bytes() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (level2 > 0) return level2;
#endif
    return 1 << 20;
}

// How to write a large output to memory. On an AMD Zen 4, prefetching was 1.0 to 1.3 times as fast
// as non-temporal stores (W1 to W4 of `quadfeat bench`); other AMD processors are assumed to be
// alike. Elsewhere plain stores reached a third of the bandwidth of non-temporal ones.
inline Way way_of_large() {
#if defined(QUADFEAT_X86_UNITS)
    if (__builtin_cpu_is("amd")) return Way::fetched;
#endif
    return Way::around;
}

}  // namespace quadfeat
