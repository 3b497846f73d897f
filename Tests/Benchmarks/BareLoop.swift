import WakeModel
import WakeStore
import WakeSystem

/// `bench bare-loop`: what registrations cannot do without. One thread commits rows of the same
/// size with the same settings, in batches of a given size, and does nothing else: no queue, no
/// hashing, no sealing, no answers.
enum BareLoop {
    /// What each registration does to the table.
    enum Change: String, CaseIterable, Sendable {
        case new, renew, move, delete
    }

    private static let help = """
        usage: bench bare-loop DIRECTORY new|renew|move|delete|mixed COUNT BATCH

        Opens the current generation in DIRECTORY/data, or makes one, and registers what is to be
        renewed, moved or deleted. Measures COUNT changes, BATCH in each transaction.
        """

    static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count == 4, let count = Int(arguments[2]), count > 0,
            let batch = Int(arguments[3]), batch > 0
        else {
            print(help)
            return arguments.first == "--help" ? 0 : 2
        }
        do {
            let loop = try Loop(arguments[0], count)
            print(try loop.measure(steps(arguments[1], count), batch: batch).report)
            return 0
        } catch {
            print("bench: \(error)")
            return 1
        }
    }

    /// The change of each operation: of ten mixed ones seven renew, one each is new, moves and
    /// deletes.
    static func steps(_ name: String, _ count: Int) -> [Change] {
        if let change = Change(rawValue: name) {
            return [Change](repeating: change, count: count)
        }
        let mix: [Change] = [
            .renew, .renew, .new, .renew, .renew, .move, .renew, .renew, .delete, .renew,
        ]
        return (0..<count).map { mix[$0 % mix.count] }
    }

    /// A measurement of a process of its own, which an environment may slow.
    static func measure(
        in directory: String, _ name: String, count: Int, batch: Int,
        environment: [String: String] = [:]
    ) throws -> Measurement {
        try Measurement(
            reportOf: ["env"] + environment.map { "\($0)=\($1)" } + [
                CommandLine.arguments[0], "bare-loop", directory, name, "\(count)", "\(batch)",
            ])
    }

    private struct Loop {
        private let database: Database
        private let begin: Statement
        private let commit: Statement
        private let insert: Statement
        private let update: Statement
        private let delete: Statement
        private let deleteMoved: Statement
        private let insertMoved: Statement
        private let ids: [UInt8]
        private let sealed = Sodium.random(Limits.sealedBytes)
        /// Of rows that are renewed: SQLite writes nothing for a row that stays what it was.
        private let formerSealed = Sodium.random(Limits.sealedBytes)

        init(_ directory: String, _ count: Int) throws {
            let files = FilledStores.Files(in: directory)
            if files.databases.isEmpty { try Store.create(files.configuration) }
            guard let current = files.databases.last else { throw BenchFailure("no database") }
            database = try Database(path: current, access: .readWrite)
            try StoreSetting.apply(to: database)
            let table = StoreSchema.Table.registration.rawValue
            let moved = StoreSchema.Table.moved.rawValue
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            insert = try database.prepare("INSERT INTO \(table)(id,sealed) VALUES(?1,?2)")
            insertMoved = try database.prepare("INSERT INTO \(moved)(id) VALUES(?1)")
            update = try database.prepare("UPDATE \(table) SET sealed=?2 WHERE id=?1")
            delete = try database.prepare("DELETE FROM \(table) WHERE id=?1")
            deleteMoved = try database.prepare("DELETE FROM \(moved) WHERE id=?1")
            ids = Sodium.random(count * Limits.idBytes)
        }

        func measure(_ steps: [Change], batch: Int) throws -> Measurement {
            try prepare(steps)
            _ = database.takePagesWritten()
            var pages = 0
            let watch = Stopwatch()
            for start in stride(from: 0, to: steps.count, by: batch) {
                let numbers = start..<min(start + batch, steps.count)
                try begin.run()
                for number in numbers { try perform(steps[number], number) }
                try commit.run()
                pages += database.takePagesWritten()
                if numbers.contains(where: { steps[$0] == .delete }) {
                    // Gone means gone: before the answer it is in no file.
                    try database.checkpointTruncate()
                    pages = 0
                } else if pages >= Limits.logPages {
                    try database.checkpoint()
                    pages = 0
                }
            }
            return Measurement(
                operations: steps.count, seconds: watch.seconds,
                processorSeconds: watch.processorSeconds)
        }

        private func perform(_ change: Change, _ number: Int) throws {
            switch change {
            case .new: try write(number, insert)
            case .renew: try write(number, update)
            case .move:
                try write(number, insert)
                try forget(number, insertMoved)
            case .delete:
                try forget(number, delete)
                try forget(number, deleteMoved)
            }
        }

        /// Registers what is renewed or deleted.
        private func prepare(_ steps: [Change]) throws {
            try begin.run()
            for (number, change) in steps.enumerated() where [.renew, .delete].contains(change) {
                try write(number, insert, formerSealed)
            }
            try commit.run()
            try database.checkpointTruncate()
        }

        private func write(
            _ number: Int, _ statement: Statement, _ box: [UInt8]? = nil
        ) throws {
            try statement.bind(1, blob: ids.span.extracting(place(number)))
            let box = box ?? sealed
            try statement.bind(2, blob: box.span)
            try statement.run()
        }

        private func forget(_ number: Int, _ statement: Statement) throws {
            try statement.bind(1, blob: ids.span.extracting(place(number)))
            try statement.run()
        }

        private func place(_ number: Int) -> Range<Int> {
            number * Limits.idBytes..<(number + 1) * Limits.idBytes
        }
    }
}
