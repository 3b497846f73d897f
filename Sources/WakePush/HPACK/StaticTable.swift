/// The static table (RFC 7541 appendix A), from index 1 to 61.
enum StaticTable {
    static let count = 61
    /// Index of the first of the `:status` fields.
    static let firstStatus = 8
    static let statuses: [UInt16] = [200, 204, 206, 304, 400, 404, 500]
    static let path = 4

    /// Element 0 is not used.
    static let names: [[UInt8]] = [[]] + fields.map { Array($0.0.utf8) }
    static let values: [[UInt8]] = [[]] + fields.map { Array($0.1.utf8) }

    /// The lowest index with this name, and the index of the whole field, if there are any.
    static func find(name: [UInt8], value: [UInt8]) -> (name: Int?, whole: Int?) {
        var first: Int?
        for index in 1...count where names[index] == name {
            if values[index] == value { return (first ?? index, index) }
            first = first ?? index
        }
        return (first, nil)
    }

    private static let fields: [(String, String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
        (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
        (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
        (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
        ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
        ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
        ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
        ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
        ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
        ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""),
        ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""),
        ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]
}
