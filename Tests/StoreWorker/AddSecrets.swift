import Reveille
import StoreFaults

/// Adds three secrets to a profile, and dies at one of the system calls that change a file or a
/// name. Says `added` when it was let live.
enum AddSecrets {
    static func run(_ state: String, _ dieAt: String) -> Int32 {
        let secrets = (1...3).map { (name: "new-\($0)", secret: [UInt8](repeating: $0, count: 32)) }
        wake_die(Int(dieAt) ?? 0)
        do throws(SecretDirectory.Fault) {
            try SecretDirectory(stateDirectory: state).add(secrets)
        } catch {
            return 1
        }
        Line.write("added")
        return 0
    }
}
