/** How an agent hands an open folder to one in another container, by a socket in the data volume that both have. */

/** Python for who gets it: says "listens", then has it in `folder`. */
export const receivesFolder = `
import os, socket, sys
path = os.path.expanduser("~/.claude/handed")
os.makedirs(os.path.dirname(path), exist_ok=True)
if os.path.exists(path): os.remove(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print("listens", flush=True)
folder = socket.recv_fds(listener.accept()[0], 1, 1)[1][0]`;

/** Python for who hands over the folder that its argument names. */
export const handsFolder = `
import os, socket, sys
to = socket.socket(socket.AF_UNIX)
to.connect(os.path.expanduser("~/.claude/handed"))
socket.send_fds(to, [b"x"], [os.open(sys.argv[1], os.O_RDONLY)])`;
