import CRuntime
import Glibc

/// A blocking call of getaddrinfo(3).
enum NameLookup {
    /// Both families. `host` is a DNS name, see ``FetchURL/isName(_:)``; each name server has
    /// these seconds.
    static func addresses(of host: [UInt8], seconds: Int) -> Result<[IPAddress], ResolveError> {
        // Search domains would make another name of it (resolv.conf(5)).
        crt_resolve_whole_names(Int32(seconds))
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_family = AF_UNSPEC
        var list: UnsafeMutablePointer<addrinfo>?
        let name = host + [0]
        let status = unsafe name.withUnsafeBytes { bytes in
            let start = unsafe bytes.assumingMemoryBound(to: CChar.self).baseAddress
            return unsafe getaddrinfo(start, nil, &hints, &list)
        }
        guard status == 0 else { return .failure(error(status)) }
        defer { unsafe freeaddrinfo(list) }
        var found: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe address(entry.pointee), !found.contains(address) {
                found.append(address)
            }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return found.isEmpty ? .failure(.notFound) : .success(found)
    }

    /// getaddrinfo(3), "Return value".
    private static func error(_ status: Int32) -> ResolveError {
        switch status {
        case EAI_NONAME, noData, noAddressOfFamily: .notFound
        default: .temporarily
        }
    }

    /// EAI_NODATA and EAI_ADDRFAMILY of netdb.h, which Swift does not see.
    private static let noData: Int32 = -5
    private static let noAddressOfFamily: Int32 = -9

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let address = unsafe entry.ai_addr else { return nil }
        let length = Int(unsafe entry.ai_addrlen)
        switch unsafe entry.ai_family {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            return unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                IPAddress(.v4, UInt128(UInt32(bigEndian: unsafe $0.pointee.sin_addr.s_addr)))
            }
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            return unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                let bytes = unsafe withUnsafeBytes(of: $0.pointee.sin6_addr) { unsafe Array($0) }
                return IPAddress(bytes: bytes)
            }
        default: return nil
        }
    }
}
