from passus.cli.app import main

main()
