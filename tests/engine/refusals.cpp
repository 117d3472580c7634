// Sharing rows where the system gives fewer threads than asked for, or no memory: every row is done by the
// threads there are, or an exception is thrown, and no thread outlives the call.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

#include "../../src/quadfeat/_engine/cpp/threads.hpp"

namespace {

int threads_left = 1000, allocations_left = 1000, running = 0;

bool spend(int& left) { return left > 0 && left--; }

}  // namespace

void* operator new(std::size_t size) {
    void* p = spend(allocations_left) ? std::malloc(size) : nullptr;
    if (!p) throw std::bad_alloc();
    return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (!spend(threads_left)) return EAGAIN;
    ++running;
    return create(thread, attributes, start, argument);
}
extern "C" int pthread_join(pthread_t thread, void** result) {
    using Join = int (*)(pthread_t, void**);
    static const auto join = reinterpret_cast<Join>(dlsym(RTLD_NEXT, "pthread_join"));
    --running;
    return join(thread, result);
}

namespace quadfeat {
namespace {

constexpr index kTestRows = 1000, kColumns = kElementsPerThread;

template <class Interrupted>
Status mark(std::vector<char>& done, Interrupted interrupted) {
    return share_rows(
        kTestRows, kColumns, 4, 4, 100,
        [&](index begin, index end, void*) {
            for (index r = begin; r < end; ++r) done[std::size_t(r)] += 1;
            return Status::ok;
        },
        interrupted);
}

// Whether every row is done once, or the call has thrown.
bool holds(int threads, int allocations) {
    allocations_left = 1000;
    std::vector<char> done(std::size_t(kTestRows), 0);
    bool thrown = false;
    threads_left = threads;
    allocations_left = allocations;
    try {
        mark(done, Never{});
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    allocations_left = 1000;
    bool whole = true;
    for (const char times : done) whole = whole && times == 1;
    return (whole || thrown) && running == 0;
}

// A caller that leaves by an exception takes its helpers with it.
bool holds_when_the_caller_throws() {
    threads_left = allocations_left = 1000;
    std::vector<char> done(std::size_t(kTestRows), 0);
    try {
        mark(done, []() -> bool { throw std::runtime_error("enough"); });
    } catch (const std::runtime_error&) {
        return running == 0;
    }
    return running == 0 && done[0] == 1;  // helpers may have been quicker than the caller
}

}  // namespace
}  // namespace quadfeat

int main() {
    bool good = true;
    for (int threads = 0; threads <= 4; ++threads)
        for (int allocations = 0; allocations <= 12; ++allocations)
            if (!quadfeat::holds(threads, allocations)) {
                std::printf("broken with %d threads and %d allocations\n", threads, allocations);
                good = false;
            }
    for (int times = 0; times < 20; ++times) good = quadfeat::holds_when_the_caller_throws() && good;
    std::puts(good ? "shared" : "BROKEN");
    return good ? 0 : 1;
}
