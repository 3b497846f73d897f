private import Foundation

/// `mock-push` as a child process, whichever service it is.
package struct MockProgram: Sendable {
    package let program: RunningProgram
    /// In the order in which it tells them.
    package let ports: [Int]

    /// - Parameters:
    ///   - arguments: flags of `mock-push`.
    ///   - places: what its lines call the ports.
    package init(_ arguments: [String], places: [String] = ["port"]) async throws {
        program = try RunningProgram("mock-push", arguments)
        var ports: [Int] = []
        for place in places {
            let line = try await program.line(containing: "listening on \(place) ")
            guard let port = line.split(separator: " ").last.flatMap({ Int($0) }) else {
                throw TestFailure("no port in: \(line)")
            }
            ports.append(port)
        }
        self.ports = ports
    }

    /// Ends it and reads its report.
    package func report<Report: Decodable>() async throws -> Report {
        program.signal(SIGTERM)
        let line = try await program.line(containing: "\"connections\"")
        guard await program.exit() == 0 else { throw TestFailure("the mock failed: \(line)") }
        return try JSONDecoder().decode(Report.self, from: Data(line.utf8))
    }
}

/// What a mock has seen and done: what all of them count, and what is this service's own.
@dynamicMemberLookup
package struct MockReport<Own: Decodable & Sendable>: Decodable, Sendable {
    package let tally: MockTally
    package let own: Own

    package init(from decoder: any Decoder) throws {
        tally = try MockTally(from: decoder)
        own = try Own(from: decoder)
    }

    package subscript<Value>(dynamicMember path: KeyPath<MockTally, Value>) -> Value {
        tally[keyPath: path]
    }

    package subscript<Value>(dynamicMember path: KeyPath<Own, Value>) -> Value {
        own[keyPath: path]
    }
}

/// What all mocks count.
package struct MockTally: Decodable, Sendable {
    package let connections: Int
    package let requests: Int
    package let delivered: Int
    package let distinct: Int
    package let duplicates: Int
    /// The most that one push token had.
    package let mostEach: Int
    package let mostStreams: Int
    /// By status.
    package let answers: [String: Int]
    /// By what was wrong with the request.
    package let refusals: [String: Int]
    package let faults: [String: Int]
    package let violations: [String: Int]
    /// How many requests carried each field.
    package let fields: [String: Int]
}
