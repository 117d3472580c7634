// Writes the features of a block of rows, from left to right.
//
// Way::around: a routine writes into a buffer in the first-level cache, and whole cache lines leave it
// by non-temporal stores: no line is read before it is written, and none is written twice. A partly
// filled line is carried to the front of the next columns. There are two buffers: while the routine
// fills one, it regularly calls `move` to send some lines of the other, so that memory is busy
// while the routine computes. Way::fetched: features are written in place, and `move` prefetches
// the lines that the routine writes next. Which of the two is faster depends on the processor.
// Way::cached: features are written in place, and `move` does nothing.
#pragma once

#include "simd.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

// Elements of the two buffers of a Writer together: about a first-level cache.
template <class T>
constexpr index kBuffers = 32 * 1024 / sizeof(T);

template <class T>
class Writer {
   public:
    static constexpr index line = kLine / sizeof(T);  // elements of a cache line

    // `memory` holds `size` elements, for both buffers.
    Writer(const Output<T>& out, index begin, index rows, T* memory, index size)
        : out_(out.data + begin * out.row_stride),
          out_stride_(out.row_stride),
          rows_(rows),
          way_(out.way) {
        // A row of a buffer has an odd number of lines, so that rows fall into distinct sets of the
        // cache. Adding the remainder of the output's stride gives every buffered element the
        // alignment of its place in the output. One more line holds the carried elements.
        const index lines = (size / 2 / rows / line - 1 - 1) | 1;
        capacity_ = (lines - 1) * line;
        stride_ = way_ == Way::around ? lines * line + (out.row_stride % line + line) % line
                                : out.row_stride;
        buffer_ = memory;
        other_ = memory + size / 2 / line * line;
        // Clears only the rows in use: clearing whole arrays took a fifth of the time of small outputs.
        if (way_ == Way::around)
            for (index r = 0; r < rows; ++r) runs_[r] = {nullptr, nullptr, 0};
    }

    // The least number of columns that a buffer holds.
    index capacity() const { return capacity_; }

    // Starts (again) at a column of the output.
    void begin(index column) {
        column_ = column;
        used_ = 0;
        for (index r = 0; r < rows_; ++r) carried_[r] = 0;
        phase_ = phase(out_ + column);
    }

    // Returns memory for the next `columns` columns; rows are `stride()` apart.
    T* take(index columns) {
        if (way_ != Way::around) {
            T* at = out_ + column_;
            column_ += columns;
            next_ = out_ + column_;
            next_lines_ = way_ == Way::fetched ? (columns + line - 1) / line : 0;
            moving_ = moved_ = 0;
            return at;
        }
        if (used_ + columns > capacity_) swap();
        T* at = buffer_ + phase_ + used_;
        used_ += columns;
        return at;
    }
    index stride() const { return stride_; }

    // Moves up to `lines` cache lines: sends them from the full buffer, or prefetches the next ones.
    void move(index lines) {
        if (way_ == Way::around) send(lines);
        else fetch(lines);
    }

    // Prefetches up to `lines` lines, row by row, of the columns after those taken last, as many as were
    // taken (Way::fetched only). A prefetch past the end of the output is harmless.
    void fetch(index lines) {
        if (next_lines_ == 0) return;
        for (; lines > 0 && moving_ < rows_; --lines) {
            __builtin_prefetch(next_ + moving_ * stride_ + moved_ * line, 1, 3);
            if (++moved_ == next_lines_) moved_ = 0, ++moving_;
        }
    }

    // Writes everything that is still in the buffers.
    void finish() {
        if (way_ != Way::around) return;
        swap();
        send(kAll);
        for (index r = 0; r < rows_; ++r) {
            const T* from = buffer_ + r * stride_ + phase_ - carried_[r];
            T* to = out_ + r * out_stride_ + column_ - carried_[r];
            for (index i = 0; i < carried_[r]; ++i) to[i] = from[i];
        }
    }

   private:
    struct Run {
        const T* from;
        T* to;
        index lines;
    };

    static constexpr index kAll = index(1) << 62;

    void send(index lines) {
        while (lines > 0 && moving_ < rows_) {
            Run& run = runs_[moving_];
            const index some = lines < run.lines ? lines : run.lines;
            for (index i = 0; i < some * line; i += lanes<T>)
                stream(run.to + i, load(run.from + i));
            run.from += some * line;
            run.to += some * line;
            run.lines -= some;
            lines -= some;
            if (run.lines == 0) ++moving_;
        }
    }

    // Elements between the start of a cache line and p.
    static index phase(const T* p) {
        return index(reinterpret_cast<std::uintptr_t>(p) % kLine) / index(sizeof(T));
    }

    // The buffer in use is full: queues its lines for `send` and continues in the other.
    void swap() {
        send(kAll);
        const index next_phase = phase(out_ + column_ + used_);
        for (index r = 0; r < rows_; ++r) {
            index count = carried_[r] + used_;
            const T* from = buffer_ + r * stride_ + phase_ - carried_[r];
            T* to = out_ + r * out_stride_ + column_ - carried_[r];
            if (phase(to) != 0) {  // the first columns of a row share a line with the row before
                index head = line - phase(to);
                head = head < count ? head : count;
                for (index i = 0; i < head; ++i) to[i] = from[i];
                from += head;
                to += head;
                count -= head;
            }
            runs_[r] = {from, to, count / line};
            carried_[r] = count % line;
            const T* rest = from + count / line * line;
            T* front = other_ + r * stride_ + next_phase - carried_[r];
            for (index i = 0; i < carried_[r]; ++i) front[i] = rest[i];
        }
        T* full = buffer_;
        buffer_ = other_;
        other_ = full;
        column_ += used_;
        used_ = 0;
        phase_ = next_phase;
        moving_ = 0;
    }

    T* out_;
    index out_stride_, rows_;
    Way way_;
    index capacity_, stride_;
    T *buffer_, *other_;
    index column_ = 0, used_ = 0, phase_ = 0;
    index carried_[kBlockRows];  // cleared by `begin`
    T* next_ = nullptr;
    index next_lines_ = 0, moved_ = 0;
    index moving_ = kBlockRows;  // the first row that has lines to send, or to fetch
    Run runs_[kBlockRows];  // lines to send (Way::around only)
};

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
