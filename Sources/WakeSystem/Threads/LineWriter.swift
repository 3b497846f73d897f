private import Glibc
private import Synchronization

/// Lines to a descriptor, by a thread of its own: a caller never waits for the reader. Lines
/// without room are dropped and counted; the count follows as a line once there is room again.
package final class LineWriter: Sendable {
    private struct State {
        var lines: [[UInt8]] = []
        /// Of `lines`, and of those that are being written.
        var bytes = 0
        var dropped = 0
    }

    private let descriptor: Int32
    private let capacity: Int
    private let note: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())
    private let posted = Semaphore()

    /// The thread runs until the process ends.
    /// - Parameters:
    ///   - capacity: bytes that may wait.
    ///   - note: the line that says how many lines were dropped.
    package init(
        _ descriptor: Int32, capacity: Int, note: @escaping @Sendable (_ dropped: Int) -> [UInt8]
    ) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.note = note
        do throws(SystemError) {
            try SystemThread.start { [self] in run() }
        } catch { preconditionFailure("the system gives no thread") }
    }

    /// Never blocks.
    package func write(_ line: [UInt8]) {
        let isFirst = state.withLock { state in
            guard line.count <= capacity - state.bytes else {
                state.dropped += 1
                return state.dropped == 1
            }
            state.lines.append(line)
            state.bytes += line.count
            return state.lines.count == 1
        }
        if isFirst { posted.post() }
    }

    /// Waits until everything is written, for the end of a process; in vain when nobody reads it.
    package func flush(within time: Duration) {
        let deadline = ContinuousClock.now + time
        while state.withLock({ $0.bytes + $0.dropped }) > 0, ContinuousClock.now < deadline {
            usleep(1000)
        }
    }

    private func run() {
        while true {
            posted.wait()
            let lines = state.withLock { state in
                // What was dropped came after what waited.
                if state.dropped > 0 {
                    let line = note(state.dropped)
                    state.lines.append(line)
                    state.bytes += line.count
                    state.dropped = 0
                }
                defer { state.lines = [] }
                return state.lines
            }
            for line in lines {
                put(line)
                state.withLock { $0.bytes -= line.count }
            }
        }
    }

    /// One write per line, so that lines of other writers never mix with it (write(2), pipes).
    private func put(_ line: [UInt8]) {
        unsafe line.withUnsafeBytes { buffer in
            var written = 0
            while written < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 { written += count; continue }
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    // Another process that shares the descriptor has made it so.
                    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    unsafe poll(&room, 1, -1)
                default: return
                }
            }
        }
    }
}
