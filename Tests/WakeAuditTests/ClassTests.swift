import Testing

@testable import WakeAudit

@Suite("Every class of violation")
struct ClassTests {
    @Test("is planted by a test of this folder, and found as what it is")
    func planted() {
        let plants =
            PlaceTests.plants + StateFileTests.contents + HeaderTests.header + HeaderTests.schema
            + PageTests.leftovers + PageTests.structure + RowTests.forms + RowTests.looks
            + KeyTests.plants
        let found = Set(plants.map(\.finding) + LogTests.lines.map(\.1))
        let missing = Set(AuditFinding.allCases).subtracting(found)
        // These have tests of their own, in `PlaceTests`, `PageTests` and `KeyTests`.
        #expect(missing == [.attribute, .integrity, .lockPage, .keyFileBesideData])
    }
}
