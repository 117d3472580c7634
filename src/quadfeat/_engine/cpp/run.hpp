// One call from Python: a routine on all rows, on several threads, with Python's lock released.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>

#include "arguments.hpp"
#include "threads.hpp"
#include "work.hpp"

namespace quadfeat {

// Polls Python for signals whose handler raises, such as Ctrl-C. Handlers run on Python's main thread
// only: other threads neither poll nor wait for Python's lock.
class Signals {
   public:
    // Construct with Python's lock held; call without it, once per block of `block_elements` outputs.
    explicit Signals(index block_elements)
        : every_(kElements / std::max<index>(block_elements, 1) + 1), next_(Clock::now() + kPause) {
        const nb::module_ threading = nb::module_::import_("threading");
        polls_ = threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
    }

    bool operator()() {
        if (!polls_ || ++blocks_ % every_ != 0 || Clock::now() < next_) return false;
        next_ = Clock::now() + kPause;
        nb::gil_scoped_acquire lock;
        return PyErr_CheckSignals() != 0;
    }

   private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPause = std::chrono::milliseconds(50);
    static constexpr index kElements = 1 << 14;  // outputs per look at the clock

    index every_, blocks_ = 0;
    Clock::time_point next_;
    bool polls_;
};

// Runs a routine on all rows of X, blocks of rows on several threads, without Python's lock.
template <class T, class Work>
Status run_routine(const Work& work, const Input<T>& in, const Output<T>& to, index block,
                   index threads, index (*scratch_bytes)(const Work&, const Input<T>&),
                   Status (*routine)(const Work&, const Input<T>&, const Output<T>&, index, index,
                                     void*)) {
    const auto all = [&](auto interrupted) {
        nb::gil_scoped_release release;
        return share_rows(
            in.rows, to.columns, block, threads, scratch_bytes(work, in),
            [&](index begin, index end, void* scratch) {
                return routine(work, in, to, begin, end, scratch);
            },
            interrupted);
    };
    // A call with fewer products takes milliseconds at most: it does not poll.
    constexpr double kShort = 1 << 22;
    if (double(in.rows) * double(in.columns) * double(to.columns) < kShort) return all(Never{});
    const Status status = all(Signals(block * to.columns));
    if (status == Status::interrupted) throw nb::python_error();
    return status;
}

inline void check_status(Status status) {
    require(status == Status::ok,
            "X is not finite, or so large that x . node overflows its floating-point type");
}

}  // namespace quadfeat
