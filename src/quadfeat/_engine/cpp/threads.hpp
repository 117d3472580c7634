// Sharing the rows of one call among threads.
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

// The threads that help a call. However it is left, they are told to stop, and joined.
class Helpers {
   public:
    explicit Helpers(std::atomic<bool>& sent, std::atomic<bool>& stop) : sent_(sent), stop_(stop) {}
    Helpers(const Helpers&) = delete;
    ~Helpers() {
        stop_.store(true, std::memory_order_relaxed);
        join();
    }

    // help(thread) for threads 1, 2, ... below `threads`, or as many of them as the system gives.
    template <class Help>
    void start(index threads, const Help& help) {
        try {
            started_.reserve(std::size_t(threads - 1));
            for (index t = 1; t < threads; ++t) {
                started_.emplace_back(help, t);
                send_elsewhere(started_.back());
            }
        } catch (...) {
            // A system out of threads throws a system_error; out of memory, a bad_alloc, perhaps while
            // it makes the other. Those that run share the rows.
        }
        sent_.store(true, std::memory_order_release);
    }

    void join() {
        sent_.store(true, std::memory_order_release);
        for (std::thread& thread : started_) thread.join();
        started_.clear();
    }

   private:
    std::atomic<bool>&sent_, &stop_;
    std::vector<std::thread> started_;
};

struct Never {
    bool operator()() const { return false; }
};

// run(begin, end, scratch) for blocks that cover [0, rows), each by whichever thread is free; it must
// not throw. A block gives the same bits whoever runs it and wherever it starts, so neither matters for
// the answer. The calling thread asks `interrupted` after each of its blocks, and if so all stop.
// Threads live for this call only: nothing survives to be broken by a fork.
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
    std::atomic<bool> stop{false}, sent{false};
    std::atomic<int> status{int(Status::ok)};
    const auto end_with = [&](Status result) {
        status.store(int(result), std::memory_order_relaxed);
        stop.store(true, std::memory_order_relaxed);
    };
    const auto work = [&](index thread, auto& asked) {
        void* scratch = static_cast<char*>(memory.get()) + thread * room;
        for (;;) {
            const index begin = next.fetch_add(step, std::memory_order_relaxed);
            if (begin >= rows || stop.load(std::memory_order_relaxed)) return;
            const Status result = run(begin, std::min(begin + step, rows), scratch);
            if (result != Status::ok) end_with(result);
            else if (asked()) end_with(Status::interrupted);
        }
    };
    // A thread that has ended has no number, and sending it would send the caller instead, for good:
    // none ends before all are sent.
    const auto help = [&](index thread) {
        Never never;
        work(thread, never);
        while (!sent.load(std::memory_order_acquire)) std::this_thread::yield();
    };
    Helpers helpers(sent, stop);
    helpers.start(threads, help);
    work(0, interrupted);
    helpers.join();
    return Status(status.load());
}

}  // namespace
}  // namespace quadfeat
