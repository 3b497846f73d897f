private import Glibc
import WakeFiles

extension StoreOpenError.Part {
    /// Refuses what others could read or replace.
    func checkPrivate(at path: String) throws(StoreOpenError) {
        let status: FileStatus
        do throws(FileError) {
            status = try FileStatus(of: path)
        } catch {
            throw StoreOpenError(self, error)
        }
        let isRightKind = self == .dataDirectory ? status.isDirectory : status.isRegular
        guard isRightKind else { throw .wrongKind(self) }
        guard status.isPrivate || (self == .keyFile && isCredential(status)) else {
            throw .notPrivate(self, mode: UInt32(status.mode))
        }
    }

    /// systemd hands a credential out as a file of root's, readable through an access list whose
    /// mask shows as the group's bits (systemd.exec(5), "Credentials").
    private func isCredential(_ status: FileStatus) -> Bool {
        status.owner == 0 && status.mode & 0o037 == 0
    }
}
