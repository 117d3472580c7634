// Tools to pack plans: vectors on cache lines, and frequencies in half-turns.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "work.hpp"

namespace quadfeat {

// A vector load that straddles two cache lines costs twice.
template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t count) {
        const std::size_t line = kLine;
        void* p = std::aligned_alloc(line, (count * sizeof(T) + line - 1) / line * line);
        if (!p) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    template <class U>
    bool operator==(const LineAllocator<U>&) const { return true; }
    template <class U>
    bool operator!=(const LineAllocator<U>&) const { return false; }
};
template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

constexpr long double kPi = 3.14159265358979323846264338327950288L;

// A frequency in half-turns (see sincos.hpp), rounded once.
template <class T>
T half_turns(double node) {
    return T(static_cast<long double>(node) / kPi);
}

}  // namespace quadfeat
