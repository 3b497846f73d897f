/// All rows, in the order of the table.
enum BenchmarkTable {
    static let rows: [Benchmark] =
        RegistrationRows.all + PushRows.all + BroadcastRows.all + StreamRows.all + FeedRows.all
        + WitnessRows.all + StoreRows.all + ProgramRows.all
}
