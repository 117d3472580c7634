// Where a kernel writes the features of a block of rows, from left to right.
//
// Way::around: features are staged in the first-level cache and leave it in whole cache lines by
// stores around the cache: no line is read before it is written, and none is written twice. A partly
// filled line waits in front of the next columns. There are two buffers; while the kernel fills one,
// it calls `move` now and then to send some lines of the other, so that memory is busy while the
// kernel computes. Way::fetched: features are written in place, and `move` asks for the lines that
// the kernel will write next. Which of the two is faster depends on the processor.
#pragma once

#include "simd.hpp"

namespace quadfeat {
namespace QUADFEAT_ISA {

template <class T>
class Stage {
   public:
    static constexpr index line = kLine / sizeof(T);  // elements of a cache line

    // `memory` holds `size` elements, for both buffers.
    Stage(const Output<T>& out, index begin, index rows, T* memory, index size)
        : out_(out.data + begin * out.row_stride),
          out_stride_(out.row_stride),
          rows_(rows),
          way_(out.way) {
        // A row of a buffer has an odd number of lines, so that rows fall into distinct sets of the
        // cache. The remainder of the output's stride is added to it: a staged element then has the
        // alignment of its place in the output. One more line is for what waits.
        const index lines = (size / 2 / rows / line - 1 - 1) | 1;
        capacity_ = (lines - 1) * line;
        stride_ = way_ == Way::around ? lines * line + (out.row_stride % line + line) % line
                                : out.row_stride;
        buffer_ = memory;
        other_ = memory + size / 2 / line * line;
        // Only what is used: clearing whole arrays took a fifth of the time of small outputs.
        if (way_ == Way::around)
            for (index r = 0; r < rows; ++r) runs_[r] = {nullptr, nullptr, 0};
    }

    // Columns that fit into a buffer, at least.
    index capacity() const { return capacity_; }

    // Start (again) at a column of the output.
    void begin(index column) {
        column_ = column;
        used_ = 0;
        for (index r = 0; r < rows_; ++r) waiting_[r] = 0;
        phase_ = phase(out_ + column);
    }

    // Room for `columns` more columns of every row, `stride()` apart.
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

    // Move up to `lines` cache lines: send them from the full buffer, or ask for those to come.
    void move(index lines) {
        if (way_ == Way::around) send(lines);
        else fetch(lines);
    }

    // Ask for up to `lines` lines of the columns to come, as many as were taken last, row by row
    // (Way::fetched only). A prefetch past the end of the output is harmless.
    void fetch(index lines) {
        if (next_lines_ == 0) return;
        for (; lines > 0 && moving_ < rows_; --lines) {
            __builtin_prefetch(next_ + moving_ * stride_ + moved_ * line, 1, 3);
            if (++moved_ == next_lines_) moved_ = 0, ++moving_;
        }
    }

    void finish() {
        if (way_ != Way::around) return;
        swap();
        send(kAll);
        for (index r = 0; r < rows_; ++r) {
            const T* from = buffer_ + r * stride_ + phase_ - waiting_[r];
            T* to = out_ + r * out_stride_ + column_ - waiting_[r];
            for (index i = 0; i < waiting_[r]; ++i) to[i] = from[i];
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

    // The buffer in use is full: hand it over to `drain` and go on in the other.
    void swap() {
        send(kAll);
        const index next_phase = phase(out_ + column_ + used_);
        for (index r = 0; r < rows_; ++r) {
            index count = waiting_[r] + used_;
            const T* from = buffer_ + r * stride_ + phase_ - waiting_[r];
            T* to = out_ + r * out_stride_ + column_ - waiting_[r];
            if (phase(to) != 0) {  // the first columns of a row share a line with the row before
                index head = line - phase(to);
                head = head < count ? head : count;
                for (index i = 0; i < head; ++i) to[i] = from[i];
                from += head;
                to += head;
                count -= head;
            }
            runs_[r] = {from, to, count / line};
            waiting_[r] = count % line;
            const T* rest = from + count / line * line;
            T* front = other_ + r * stride_ + next_phase - waiting_[r];
            for (index i = 0; i < waiting_[r]; ++i) front[i] = rest[i];
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
    index waiting_[kBlockRows];  // cleared by `begin`
    T* next_ = nullptr;
    index next_lines_ = 0, moved_ = 0;
    index moving_ = kBlockRows;  // the first row that has lines to send, or to fetch
    Run runs_[kBlockRows];  // of Way::around
};

}  // namespace QUADFEAT_ISA
}  // namespace quadfeat
