// Splits the rows of one call among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "work.hpp"

namespace quadfeat {

// Below this many output elements per thread, starting a thread costs more than it saves.
constexpr index kElementsPerThread = 1 << 17;

// Rows of a block: few, so that stores go to few rows at a time; enough to reuse loaded nodes.
template <class T>
constexpr index kRows = kLine / index(sizeof(T));
static_assert(kRows<float> <= kBlockRows, "");

// Sets the affinity of a new thread to the other processors of this process. It starts on the
// processor of its creator, and sometimes waited there for milliseconds while others were idle.
inline void send_elsewhere(std::thread& thread) {
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

// The helper threads of a call; the destructor stops and joins them.
class Helpers {
   public:
    explicit Helpers(std::atomic<bool>& placed, std::atomic<bool>& stop) : placed_(placed), stop_(stop) {}
    Helpers(const Helpers&) = delete;
    ~Helpers() {
        stop_.store(true, std::memory_order_relaxed);
        join();
    }

    // Runs help(t) on threads t = 1, ..., threads - 1, or on as many as the system allows.
    template <class Help>
    void start(index threads, const Help& help) {
        try {
            started_.reserve(std::size_t(threads - 1));
            for (index t = 1; t < threads; ++t) {
                started_.emplace_back(help, t);
                send_elsewhere(started_.back());
            }
        } catch (...) {
            // system_error if there are no more threads, bad_alloc if there is no more memory: the
            // threads that did start do all rows.
        }
        placed_.store(true, std::memory_order_release);
    }

    void join() {
        placed_.store(true, std::memory_order_release);
        for (std::thread& thread : started_) thread.join();
        started_.clear();
    }

   private:
    std::atomic<bool>&placed_, &stop_;
    std::vector<std::thread> started_;
};

struct Never {
    bool operator()() const { return false; }
};

// Calls run(begin, end, scratch) for blocks that cover [0, rows), each on any free thread; it must
// not throw. Results do not depend on the thread or on where blocks start. The calling thread calls
// `interrupted` after each of its blocks; if that returns true, all threads stop. Threads live for
// this call only, so a fork cannot break them.
template <class Run, class Interrupted = Never>
Status share_rows(index rows, index columns, index block, index threads, index scratch_bytes,
                  Run run, Interrupted interrupted = {}) {
    const index worth = rows * std::max<index>(columns, 1) / kElementsPerThread + 1;
    threads = std::max<index>(1, std::min({threads, worth, rows}));
    const index step =
        std::max<index>(1, std::min<index>(block, (rows + threads - 1) / threads));
    const index room = (scratch_bytes + kLine - 1) / kLine * kLine + kLine;
    std::unique_ptr<void, FreeDeleter> memory(
        std::aligned_alloc(kLine, std::size_t(room * threads)));
    if (!memory) throw std::bad_alloc();

    std::atomic<index> next{0};
    std::atomic<bool> stop{false}, placed{false};
    std::atomic<int> status{int(Status::ok)};
    const auto end_with = [&](Status result) {
        status.store(int(result), std::memory_order_relaxed);
        stop.store(true, std::memory_order_relaxed);
    };
    const auto work = [&](index thread, auto& is_interrupted) {
        void* scratch = static_cast<char*>(memory.get()) + thread * room;
        for (;;) {
            const index begin = next.fetch_add(step, std::memory_order_relaxed);
            if (begin >= rows || stop.load(std::memory_order_relaxed)) return;
            const Status result = run(begin, std::min(begin + step, rows), scratch);
            if (result != Status::ok) end_with(result);
            else if (is_interrupted()) end_with(Status::interrupted);
        }
    };
    // Helpers spin until affinities are set. The id of an ended thread is 0, which means the caller
    // on Linux: setting its affinity would change that of the caller permanently.
    const auto help = [&](index thread) {
        Never never;
        work(thread, never);
        while (!placed.load(std::memory_order_acquire)) std::this_thread::yield();
    };
    Helpers helpers(placed, stop);
    helpers.start(threads, help);
    work(0, interrupted);
    helpers.join();
    return Status(status.load());
}

}  // namespace quadfeat
