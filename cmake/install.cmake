# What `make install` puts where: command, libraries, headers, pkg-config file, manual, completion.
# Manual and completion are written by the command itself, from the table its --help comes from.
# Component `command` is what who trains needs, plugins of base/plugin.c among it.

install(TARGETS outgrow RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS outgrow_static outgrow_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET outgrow_mpi)
  install(TARGETS outgrow_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/outgrow COMPONENT command)
endif()
install(DIRECTORY include/outgrow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The prefix is where the file is found, so that a tree may be moved.
file(RELATIVE_PATH OUTGROW_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" OUTGROW_PC_UP "${OUTGROW_PC_UP}")
configure_file(cmake/outgrow.pc.in outgrow.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/outgrow.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(told ${CMAKE_CURRENT_BINARY_DIR}/told)
file(MAKE_DIRECTORY ${told})
add_custom_command(OUTPUT ${told}/outgrow.1 ${told}/outgrow ${told}/_outgrow ${told}/outgrow.fish
  COMMAND outgrow help --man >outgrow.1
  COMMAND outgrow help --completion=bash >outgrow
  COMMAND outgrow help --completion=zsh >_outgrow
  COMMAND outgrow help --completion=fish >outgrow.fish
  DEPENDS outgrow WORKING_DIRECTORY ${told} # by name there: its path may have spaces
  COMMENT "Writing manual and completion")
add_custom_target(outgrow_told ALL DEPENDS ${told}/outgrow.1)
install(FILES ${told}/outgrow.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${told}/outgrow DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
install(FILES ${told}/_outgrow DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT command)
install(FILES ${told}/outgrow.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
