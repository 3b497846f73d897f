import WakeClient
import WakeCommand

let doctorCommand = Command(
    "doctor", "look at everything this client needs, and say what to do",
    options: [.init("--json", "as JSON")] + Profile.options,
    examples: ["reveille-client doctor", "reveille-client doctor --json --profile work"],
    notes: """
        It changes nothing and may be used beside a running client. It makes two requests, those \
        that every client makes: the feed's head and the event stream. Exit status 75 says that \
        waiting may help, 78 that somebody must act; warnings alone end with 0.
        """
) { invocation throws(CommandFailure) in
    let findings = await Doctor(try Profile(invocation)).examine()
    Console().out(invocation.flag("--json") ? Finding.json(findings) : Finding.text(findings))
    return Finding.status(of: findings)
}
