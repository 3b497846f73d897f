/// A server for pushes in a process of its own; it ends with the last user.
struct FarEnd {
    enum Kind {
        /// `bench push-peer`: parses frames, answers 200.
        case answerer(latency: Int, streams: Int)
        /// `mock-push`: checks everything, counts tokens.
        case mock([String])
    }

    private let process: MeasuredProcess
    let port: Int

    /// Nil when it does not start.
    init?(_ kind: Kind, _ workshop: PushWorkshop) {
        let own = CommandLine.arguments[0]
        let identity = ["--certificate", workshop.certificate, "--key", workshop.serverKey]
        let words: [String]
        switch kind {
        case .answerer(let latency, let streams):
            words =
                [own, "push-peer"] + identity
                + ["--latency", "\(latency)", "--streams", "\(streams)"]
        case .mock(let flags):
            let folder = own.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            words =
                [(folder + ["mock-push"]).joined(separator: "/")] + identity
                + [
                    "--public-key", workshop.publicKey, "--key-id", PushWorkshop.keyID,
                    "--team-id", PushWorkshop.teamID, "--topic", PushWorkshop.topic,
                ] + flags
        }
        guard let process = MeasuredProcess(words),
            let port = process.line(beginning: "listening on port ")?.split(separator: " ").last
                .flatMap({ Int($0) })
        else { return nil }
        self.process = process
        self.port = port
    }

    /// Ends a mock.
    /// - Returns: its report, and its CPU seconds from start to end.
    func report() -> (line: String, processorSeconds: Double)? {
        process.terminate()
        guard let report = process.line(beginning: "{") else { return nil }
        let end = process.end()
        return end.isSuccess ? (report, end.processorSeconds) : nil
    }
}

/// One run of `bench push-sender`.
struct PushRun {
    let measurement: Measurement

    /// Nil unless every push was accepted.
    init?(_ workshop: PushWorkshop, port: Int, _ count: Int) {
        let words =
            [
                CommandLine.arguments[0], "push-sender", "--port", "\(port)", "--authority",
                workshop.certificate, "--key", workshop.signingKey, "--token-file",
                workshop.providerToken, "--pushes", "\(count)",
            ]
        guard let process = MeasuredProcess(words) else { return nil }
        guard let line = process.line(beginning: "sent "), process.end().isSuccess else {
            return nil
        }
        let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard numbers.count == 5, Int(numbers[0]) == count else { return nil }
        var measurement = Measurement(
            operations: count, seconds: numbers[2], processorSeconds: numbers[3])
        measurement.memory = Int(numbers[4])
        self.measurement = measurement
    }
}
