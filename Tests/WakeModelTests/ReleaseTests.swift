import Testing
import WakeModel

@Suite("The version and what it was built from")
struct ReleaseTests {
    private let commit = "8f8b04b12345678900000000000000000000abcd"

    @Test("names the commit whole, says when there were changes, and when no commit is known")
    func text() {
        let version = Release.version
        #expect(Release(commit: commit, isChanged: false).text == "\(version) (\(commit))")
        #expect(
            Release(commit: commit, isChanged: true).text == "\(version) (\(commit), with changes)")
        #expect(Release(commit: "", isChanged: true).text == "\(version) (commit unknown)")
        #expect(Release(commit: "0123abc", isChanged: false).commit == "0123abc")
        #expect(Release(commit: commit + commit.prefix(24), isChanged: false).commit?.count == 64)
    }

    @Test(
        "what is no commit is none",
        arguments: ["012345", "HEAD", "8F8B04B12345", "8f8b04b1234g", "main-2026"])
    func none(_ text: String) { #expect(Release(commit: text, isChanged: false).commit == nil) }

    @Test("a hash of 65 digits is none")
    func tooLong() {
        #expect(Release(commit: String(repeating: "a", count: 65), isChanged: false).commit == nil)
    }
}
