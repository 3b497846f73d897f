private import Glibc

/// Registrations over HTTP by closed-loop keep-alive connections, from one thread that polls.
enum HTTPLoad {
    enum Failure: Error {
        case notListening
        case silent
    }

    /// - Parameter process: the service, for its CPU time.
    static func run(
        _ address: ServiceAddress, connections: Int, operations: Int, process: Int?
    ) throws -> Measurement {
        var loads: [LoadConnection] = []
        defer { for load in loads { close(load.descriptor) } }
        for _ in 0..<connections {
            guard let descriptor = address.connect() else { throw Failure.notListening }
            loads.append(LoadConnection(descriptor: descriptor))
        }
        let before = process.flatMap(Stopwatch.processorSeconds(of:))
        let watch = Stopwatch()
        var driver = Driver(loads: loads, operations: operations)
        try driver.run()
        let seconds = watch.seconds
        var measurement = Measurement(
            operations: driver.latencies.count, seconds: seconds, latencies: driver.latencies,
            failures: driver.failures)
        if let process, let before, let after = Stopwatch.processorSeconds(of: process) {
            measurement.processorSeconds = after - before
        }
        return measurement
    }

    private struct Driver {
        var loads: [LoadConnection]
        let operations: Int
        var latencies: [UInt64] = []
        var failures = 0
        private var begun = 0
        private var underWay = 0

        init(loads: [LoadConnection], operations: Int) {
            self.loads = loads
            self.operations = operations
            latencies.reserveCapacity(operations)
        }

        mutating func run() throws {
            for index in loads.indices { begin(index) }
            while underWay > 0 {
                var waits = loads.map { load in
                    pollfd(
                        fd: load.descriptor,
                        events: Int16(POLLIN) | (load.wantsToWrite ? Int16(POLLOUT) : 0),
                        revents: 0)
                }
                // A minute without one answer is no measurement.
                guard unsafe poll(&waits, nfds_t(waits.count), 60_000) > 0 else {
                    throw Failure.silent
                }
                for (index, wait) in waits.enumerated() where wait.revents != 0 {
                    if wait.revents & Int16(POLLOUT) != 0 { _ = loads[index].write() }
                    if wait.revents & ~Int16(POLLOUT) != 0 { try advance(index) }
                }
            }
        }

        private mutating func begin(_ index: Int) {
            guard begun < operations else { return }
            begun += 1
            underWay += 1
            loads[index].begin()
        }

        private mutating func advance(_ index: Int) throws {
            switch loads[index].read() {
            case .waiting: return
            case .broken: throw Failure.silent
            case .answered(let status, let nanoseconds):
                underWay -= 1
                if status == 204 { latencies.append(nanoseconds) } else { failures += 1 }
                begin(index)
            }
        }
    }
}
