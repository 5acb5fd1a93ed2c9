# Only Python's tests use the stand-ins: they get C's code and its type supports, of which Python's is made, but nothing
# for C++, which would take most of the time.
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
  "^rosidl_(generator_cpp|typesupport_cpp|typesupport_fastrtps_cpp|typesupport_introspection_cpp):")

# Hundreds of small files that include the same headers: many are compiled as one.
macro(generate_interfaces)
  rosidl_generate_interfaces(${PROJECT_NAME} ${ARGN})
  foreach(part generator_c generator_py typesupport_c typesupport_fastrtps_c typesupport_introspection_c)
    set(target ${PROJECT_NAME}__rosidl_${part})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    # Descriptions have variables of the same names.
    get_target_property(descriptions ${target} SOURCES)
    list(FILTER descriptions INCLUDE REGEX "__description\\.c$")
    set_source_files_properties(${descriptions} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endmacro()
