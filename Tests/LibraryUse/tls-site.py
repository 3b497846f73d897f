"""Serves a directory by HTTPS, and says of each request whether its TLS session was resumed.

    tls-site.py DIRECTORY CERTIFICATE KEY
"""
import http.server
import ssl
import sys

directory, certificate, key = sys.argv[1:]


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *words):
        super().__init__(*words, directory=directory)

    def do_GET(self):
        print("resumed" if self.connection.session_reused else "new", flush=True)
        super().do_GET()

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, address):
        """A client that does not trust the certificate hangs up."""


server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print("port", server.server_port, flush=True)
server.serve_forever()
