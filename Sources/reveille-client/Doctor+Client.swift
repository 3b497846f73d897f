import WakeClient
import WakeCommand
import WakeFiles

/// What the client itself has written down, and who keeps it running.
extension Doctor {
    func client(
        _ examination: ProfileExamination, _ configuration: ClientConfiguration
    ) -> [Finding] {
        var findings: [Finding] = []
        if let process = ProfileExamination.holder(of: configuration) {
            findings.append(.ok("client", "running, process \(process)"))
        } else {
            findings.append(.ok("client", "not running"))
        }
        // Otherwise asking would make a state.
        guard examination.stateVersion != nil else { return findings }
        do throws(ClientError) {
            let status = try ProfileVisit(configuration).status()
            findings.append(registration(status.registration))
            findings += self.findings(status)
        } catch {
            findings.append(Self.failure("state", error))
        }
        let cached = examination.cached()
        let batches = cached.batches == 1 ? "1 batch" : "\(cached.batches) batches"
        findings.append(.ok("cache", "\(batches), \(cached.bytes / 1024) KiB"))
        return findings
    }

    private func registration(_ state: RegistrationState) -> Finding {
        switch state {
        case .none, .registered: .ok("registration", Report.word(state))
        case .suspended:
            .warning(
                "registration", "switched off by the publisher for now",
                hint: "it is made when the publisher allows it again")
        case .registering(let failure):
            .warning(
                "registration", "on its way",
                hint: failure.flatMap(CommandFailure.hint) ?? "run and sync keep trying")
        case .unregistering:
            .warning(
                "registration", "being given up, and not acknowledged yet",
                hint: "run and sync keep trying")
        }
    }

    private func findings(_ status: ClientStatus) -> [Finding] {
        var findings: [Finding] = []
        if status.matchesToTell > 0 {
            findings.append(
                .warning(
                    "telling", "\(status.matchesToTell) matches wait to be told",
                    hint: "run and sync tell them; does the program of --on-match end with 0?"))
        }
        if status.isForked {
            findings.append(
                .failed(
                    "history", "two histories of the feed were seen: nothing newer is checked",
                    hint: CommandFailure.hint(.fork)))
        }
        if status.isRetired {
            findings.append(
                .warning(
                    "publisher", "the feed has ended", hint: "reveille-client forget removes it"))
        }
        if status.pausedUntil != nil {
            findings.append(
                .warning(
                    "publisher", "wakes are paused", hint: "polling goes on; it ends by itself"))
        }
        if let time = status.waitingUntil {
            findings.append(
                .warning(
                    "budget", Report.waiting(status.batchesWaiting, until: time),
                    hint: "a larger daily-bytes in client.conf brings them sooner"))
        }
        if status.sharesOrigin {
            findings.append(
                .warning(
                    "origins", "feed and service share an origin",
                    hint: "one operator sees who registers and who fetches; ask for a feed "
                        + "elsewhere, or use --proxy"))
        }
        return findings
    }

    /// Nothing unless a UnifiedPush distributor was chosen.
    func pushes(_ configuration: ClientConfiguration) async -> [Finding] {
        do throws(CommandFailure) {
            return try await PushStatus(profile, configuration).finding.map { [$0] } ?? []
        } catch {
            return [.failed("pushes", error.message, hint: error.hint, status: error.status)]
        }
    }

    // MARK: systemd

    /// Nothing where there is no systemd.
    func supervision() async -> [Finding] {
        let folders = (Environment.value("PATH") ?? "").split(separator: ":")
        guard folders.contains(where: { Files.exists("\($0)/systemctl") }) else { return [] }
        for unit in ["reveille-client.service", "reveille-client-sync.timer"] {
            guard await systemctl("is-enabled", unit) else { continue }
            return [
                await systemctl("is-active", unit)
                    ? .ok("unit", "\(unit) is active")
                    : .warning(
                        "unit", "\(unit) is enabled and not active",
                        hint: "systemctl --user start \(unit)")
            ]
        }
        return [
            .warning(
                "unit", "neither service nor timer is enabled for this user",
                hint: "systemctl --user enable --now reveille-client.service, unless something "
                    + "else starts the client")
        ]
    }

    private func systemctl(_ verb: String, _ unit: String) async -> Bool {
        let words = ["systemctl", "--user", "--quiet", verb, unit]
        return await ChildProgram(words, adding: [], input: [], output: .nowhere)
            .run(for: .seconds(10))
    }
}
