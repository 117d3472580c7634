// Sharing the rows of one call among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "engine.hpp"

namespace quadfeat {
namespace {

// Below this many output elements per thread, starting a thread costs more than it saves.
constexpr index kElementsPerThread = 1 << 17;

// Rows of a block: few enough that memory takes turns among few rows, enough to use nodes again.
template <class T>
constexpr index kRows = kLine / index(sizeof(T));
static_assert(kRows<float> <= kBlockRows, "");

// A new thread starts on the processor of the thread that made it, and was seen to wait there for
// milliseconds while another was idle: it is sent to the others this process may use.
void send_elsewhere(std::thread& thread) {
#if defined(__linux__)
    cpu_set_t allowed;
    const int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (CPU_COUNT(&allowed) < 2 || !CPU_ISSET(here, &allowed)) return;
    CPU_CLR(here, &allowed);
    pthread_setaffinity_np(thread.native_handle(), sizeof allowed, &allowed);
#else
    (void)thread;
#endif
}

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};

// run(begin, end, scratch) for blocks that cover [0, rows), each by whichever thread is free. A block
// gives the same bits whoever runs it and wherever it starts, so neither matters for the answer.
// Threads live for this call only: nothing survives to be broken by a fork.
template <class Run>
Status share_rows(index rows, index columns, index block, index threads, index scratch_bytes,
                  Run run) {
    const index worth = rows * std::max<index>(columns, 1) / kElementsPerThread + 1;
    threads = std::max<index>(1, std::min({threads, worth, rows}));
    const index step =
        std::max<index>(1, std::min<index>(block, (rows + threads - 1) / threads));
    const index room = (scratch_bytes + kLine - 1) / kLine * kLine + kLine;
    std::unique_ptr<void, FreeDeleter> memory(
        std::aligned_alloc(kLine, std::size_t(room * threads)));
    if (!memory) throw std::bad_alloc();

    std::atomic<index> next{0};
    std::atomic<int> status{int(Status::ok)};
    const auto work = [&](index thread) {
        void* scratch = static_cast<char*>(memory.get()) + thread * room;
        for (;;) {
            const index begin = next.fetch_add(step, std::memory_order_relaxed);
            if (begin >= rows || status.load(std::memory_order_relaxed) != int(Status::ok)) return;
            const Status result = run(begin, std::min(begin + step, rows), scratch);
            if (result != Status::ok) status.store(int(result), std::memory_order_relaxed);
        }
    };
    // A thread that has ended has no number, and sending it would send the caller instead, for good:
    // none ends before all are sent.
    std::atomic<bool> sent{false};
    const auto help = [&](index thread) {
        work(thread);
        while (!sent.load(std::memory_order_acquire)) std::this_thread::yield();
    };
    std::vector<std::thread> others;
    others.reserve(std::size_t(threads - 1));
    try {
        for (index t = 1; t < threads; ++t) {
            others.emplace_back(help, t);
            send_elsewhere(others.back());
        }
    } catch (const std::system_error&) {
        // The system gives no more threads: those that run share the rows.
    }
    sent.store(true, std::memory_order_release);
    work(0);
    for (std::thread& other : others) other.join();
    return Status(status.load());
}

}  // namespace
}  // namespace quadfeat
