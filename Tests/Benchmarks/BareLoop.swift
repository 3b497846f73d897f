import WakeModel
import WakeSQLite
import WakeSodium
import WakeStore

/// The yardstick: one thread that commits rows of the same size with the same settings and in
/// batches of given sizes, and does nothing else. No queue, no hashing, no sealing, no answers.
enum BareLoop {
    /// - Parameter batches: rows in each transaction.
    static func run(directory: String, batches: [Int]) throws -> Measurement {
        let rows = batches.reduce(0, +)
        let ids = Sodium.random(rows * Limits.idBytes)
        let sealed = Sodium.random(Limits.sealedBytes)
        let database = try Database(path: directory + "/bare.db", access: .create)
        try StoreSetting.apply(to: database)
        let table = StoreSchema.TableName.a
        try database.execute(table.definition)
        try database.checkpointTruncate()
        let begin = try database.prepare("BEGIN IMMEDIATE")
        let commit = try database.prepare("COMMIT")
        let insert = try database.prepare("INSERT INTO \(table.rawValue)(id,sealed) VALUES(?1,?2)")
        _ = database.takePagesWritten()
        var row = 0
        var pages = 0
        let watch = Stopwatch()
        for count in batches {
            try begin.run()
            for _ in 0..<count {
                let start = row * Limits.idBytes
                try insert.bind(1, blob: ids.span.extracting(start..<start + Limits.idBytes))
                try insert.bind(2, blob: sealed.span)
                try insert.run()
                row += 1
            }
            try commit.run()
            pages += database.takePagesWritten()
            if pages >= Limits.logPages {
                try database.checkpoint()
                pages = 0
            }
        }
        return Measurement(
            operations: rows, seconds: watch.seconds, processorSeconds: watch.processorSeconds)
    }
}
