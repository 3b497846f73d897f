/// The policy's columns as README.md shows them. A test compares the two.
package enum PolicyTable {
    package static func markdown(_ policy: PolicyDocument = .inForce) -> String {
        let rows = policy.columns.map { column in
            "| `\(column.name)` | \(column.length.map(String.init) ?? "") | \(column.description) |"
        }
        return (["| column | bytes | what it is |", "|---|---|---|"] + rows)
            .joined(separator: "\n") + "\n"
    }
}
