package import WakeModel
import WakePush

/// Reads the configuration file of the service.
package struct ConfigurationParser {
    private let configuration: Configuration
    private let file: SettingsFile

    /// - Parameter directory: where relative paths start: the directory of the file.
    package static func parse(
        _ text: String, directory: String
    ) throws(SettingsFault) -> Configuration {
        var configuration = Configuration(directory: directory)
        let file = try SettingsFile(text, known: Set(keys.keys)) { entry in
            guard let key = keys[entry.name] else { return nil }
            let isSet = !entry.value.isEmpty && key.set(&configuration, entry.value, directory)
            return isSet ? nil : entry.fault(takes: key.words.takes)
        }
        for name in GatewaySection.all.map(\.name)
        where file.sectionLines[name] != nil && configuration.sections[name] == nil {
            // `reveille check` reports a section that is empty.
            configuration.sections[name] = [:]
        }
        return try ConfigurationParser(configuration: configuration, file: file)
            .finished(in: directory)
    }

    /// With what has to fit together; with the line of the wrong key, for a missing one that which
    /// opens the section.
    private func finished(in directory: String) throws(SettingsFault) -> Configuration {
        try checkAddresses()
        var configuration = configuration
        if case .tcp = configuration.admin, configuration.adminToken == nil {
            throw SettingsFault(
                line: file.keyLines["admin.listen"] ?? 0,
                text: "listen on TCP needs a token in [admin], as every user of this machine can "
                    + "connect: token = FILE, made by `reveille keygen --kind admin FILE`")
        }
        for section in GatewaySection.all {
            do throws(GatewaySectionFault) {
                try section.read(configuration.sections[section.name] ?? [:], &configuration)
            } catch { throw fault(error, section: section.name, words: section.words) }
        }
        do throws(GatewaySectionFault) {
            configuration.relay = try RelaySettings(
                section: configuration.sections["relay"] ?? [:], directory: directory)
        } catch { throw fault(error, section: "relay", words: RelaySettings.words) }
        return configuration
    }

    private func checkAddresses() throws(SettingsFault) {
        let addresses = configuration.addresses
        for (index, (section, address)) in addresses.enumerated() {
            func fault(_ text: String) -> SettingsFault {
                SettingsFault(
                    line: file.keyLines["\(section).listen"] ?? 0,
                    text: "[\(section)] listen " + text)
            }
            // `sun_path` with its end (unix(7)).
            if case .unix(let path) = address, path.utf8.count > 107 {
                throw fault("has a path that is too long: a socket's has 107 bytes at most")
            }
            if let other = addresses[..<index].first(where: { $0.1.collides(with: address) }) {
                throw fault(
                    "is the address of [\(other.section)] listen: each needs one of its own")
            }
        }
    }

    private func fault(
        _ fault: GatewaySectionFault, section: String, words: [SettingKey]
    ) -> SettingsFault {
        let line = fault.key.flatMap { file.keyLines["\(section).\($0)"] }
        return SettingsFault(
            line: line ?? file.sectionLines[section] ?? 0,
            text: fault.message(section: section, words: words))
    }
}
