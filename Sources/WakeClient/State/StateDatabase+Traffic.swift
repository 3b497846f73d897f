import WakeSQLite

extension StateDatabase {
    /// What was fetched on the day that is counted; an unused budget before the first `save`.
    func budget(limit: Int) throws(StateError) -> DataBudget {
        try read { () throws(SQLiteError) in
            let row = try database.prepare("SELECT day, bytes, waiting FROM traffic")
            guard try row.step() else { return DataBudget(limit: limit) }
            defer { row.reset() }
            return DataBudget(
                limit: limit, day: row.integer(0), bytes: Int(row.integer(1)),
                waiting: Int(row.integer(2)))
        }
    }

    func save(_ budget: DataBudget) throws(StateError) {
        try write(.traffic) { () throws(SQLiteError) in
            let statement = try database.prepare(
                "INSERT OR REPLACE INTO traffic VALUES(1, ?, ?, ?)")
            try statement.bind(1, integer: budget.day)
            try statement.bind(2, integer: Int64(budget.bytes))
            try statement.bind(3, integer: Int64(budget.waiting))
            try statement.run()
        }
    }
}
