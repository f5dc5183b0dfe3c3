title: web server of Python's library, or a script
program: /usr/bin/python3
package: python3
port: 8000
serves: the pages
runs: a script of Python 3 that listens on 127.0.0.1, at the port

# PYTHONHASHSEED: sets are in the same order in every run.
command: python3 -m http.server --bind 127.0.0.1 --directory {own}/www {port}
command with program: python3 {own}/program.py
environment: PYTHONHASHSEED=0 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PORT={port}
-- program.py = {program} --
-- www/ = page.html --
