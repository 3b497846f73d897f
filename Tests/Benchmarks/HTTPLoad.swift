private import CLinux
private import Glibc
import TestSupport

/// Registrations over HTTP by closed-loop keep-alive connections, from one thread.
///
/// It shares the machine with the service it measures, so it does as little as it can: every
/// request is made before the clock starts.
enum HTTPLoad {
    enum Failure: Error {
        case notListening
        case silent
    }

    /// Registrations of new app instances.
    static func run(
        _ address: ServiceAddress, connections: Int, operations: Int, process: Int?
    ) throws -> Measurement {
        try run(
            address, connections: connections, LoadRequests(count: operations), process: process)
    }

    /// - Parameter process: the service, for its CPU time.
    static func run(
        _ address: ServiceAddress, connections: Int, _ requests: LoadRequests, process: Int?
    ) throws -> Measurement {
        var loads: [LoadConnection] = []
        defer { for load in loads { close(load.descriptor) } }
        for _ in 0..<connections {
            guard let descriptor = address.connect() else { throw Failure.notListening }
            loads.append(LoadConnection(descriptor: descriptor))
        }
        var driver = Driver(loads: loads, requests: requests)
        defer { driver.close() }
        let before = process.flatMap(Stopwatch.processorSeconds(of:))
        let watch = Stopwatch()
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
        let requests: LoadRequests
        let epoll: Int32
        var latencies = Histogram()
        var failures = 0
        private var begun = 0
        private var underWay = 0

        init(loads: [LoadConnection], requests: LoadRequests) {
            self.loads = loads
            self.requests = requests
            epoll = linux_epoll_create()
            let bits = UInt32(linux_in.rawValue) | UInt32(linux_edge.rawValue)
            for (index, load) in loads.enumerated() {
                _ = linux_epoll_add(epoll, load.descriptor, bits, UInt64(index))
            }
        }

        func close() { _ = Glibc.close(epoll) }

        mutating func run() throws {
            for index in loads.indices { begin(index) }
            var events = [linux_event](repeating: linux_event(), count: loads.count)
            while underWay > 0 {
                // A minute without one answer is no measurement.
                let ready = unsafe linux_epoll_wait(epoll, &events, Int32(events.count), 60_000)
                guard ready > 0 else { throw Failure.silent }
                for event in events[..<Int(ready)] { try advance(Int(event.token)) }
            }
        }

        /// A request is far smaller than any socket buffer: it is sent whole or not at all.
        private mutating func begin(_ index: Int) {
            guard begun < requests.count else { return }
            loads[index].send(requests[begun])
            begun += 1
            underWay += 1
        }

        private mutating func advance(_ index: Int) throws {
            switch loads[index].read() {
            case .waiting: return
            case .broken: throw Failure.silent
            case .answered(let status, let nanoseconds):
                underWay -= 1
                if status == 204 { latencies.record(nanoseconds) } else { failures += 1 }
                begin(index)
            }
        }
    }
}
