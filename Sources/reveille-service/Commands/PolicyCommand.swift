import WakeCommand
import WakeServer

/// `reveille policy`: the privacy policy this program was built with, in four formats.
enum PolicyCommand {
    static let command = Command(
        "policy", "print the privacy policy this program was built with",
        options: [
            .init(
                "--format", value: "FORMAT",
                "json (a Fides manifest, the default), table (Markdown), apple (for the "
                    + "PrivacyInfo.xcprivacy of apps), page (what GET / shows people)",
                completion: .choice(["json", "table", "apple", "page"]))
        ],
        examples: ["reveille policy", "reveille policy --format apple > PrivacyInfo.xcprivacy"],
        run: { (invocation) async throws(CommandFailure) in try run(invocation) })

    private static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitStatus {
        let console = Console()
        switch invocation.value("--format") ?? "json" {
        case "json": console.out(bytes: PrivacyPolicy.document)
        case "table": console.out(PolicyTable.markdown(), terminator: "")
        case "page": console.out(PrivacyPage.text(), terminator: "")
        case "apple":
            guard let list = AppleManifest.propertyList() else {
                throw CommandFailure("the policy has a category Apple's manifest has no type for")
            }
            console.out(list, terminator: "")
        default: throw .usage("--format takes json, table, apple or page")
        }
        return .success
    }
}
